// The page in a real Chromium, on a whole planner: worker, scripted model, API, and a network that can be cut.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { startApi, type ApiOptions } from '../../api/server.ts';
import { transaction } from '../../store/database.ts';
import { listen } from '../../store/listener.ts';
import { createToken } from '../../store/tokens.ts';
import { buildPage } from '../../web/build.ts';
import { createRest, type Rest } from '../../client/index.ts';
import { ada, startTestPlanner, type TestPlanner } from './planner.ts';
import { inHours } from './api.ts';
import type { Script } from './scripted-model.ts';

export interface TestPage {
  planner: TestPlanner;
  /** As the browser has it: through the network that can be cut. */
  address: string;
  /** Ada's, an engineer of WEB. */
  token: string;
  /** The API as Ada. */
  rest: Rest;
  browser: Browser;
  network: Network;
  /** A tab, signed in as Ada unless `token` says otherwise ('' : signed out). */
  open(path?: string, options?: OpenOptions): Promise<Page>;
  /** What no page may do: errors in the console, violations of the page's policy, uncaught errors. */
  problems: string[];
  close(): Promise<void>;
}

export interface OpenOptions {
  width?: number;
  height?: number;
  theme?: 'light' | 'dark';
  token?: string;
  /** Opens a further tab of it. */
  context?: BrowserContext;
}

/** What a lost connection says by itself in the console. */
const expected = /ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED|WebSocket connection to|status of (400|401|403|404|409)/;

/** `given`: a planner that is there already, with its workers; it stays open. `options`: of the API. */
export async function startTestPage(
  script?: Script,
  given?: TestPlanner,
  options: Partial<ApiOptions> = {},
): Promise<TestPage> {
  const planner = given ?? (await startTestPlanner(script));
  if (!given) await planner.startWorker();
  const listener = await listen(planner.url);
  const api = await startApi({
    database: planner.database,
    listener,
    engine: planner.engine,
    port: 0,
    model: { name: 'scripted', demo: true },
    checkAnswers: true,
    temporal: { ui: 'http://127.0.0.1:8233', namespace: planner.temporal.namespace },
    page: await buildPage(() => undefined),
    ...options,
  });
  const network = await openNetwork(api.port);
  const { token } = await transaction(planner.database, (tx) =>
    createToken(tx, { subject: ada.subject, expires_at: inHours(1) }),
  );
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
  const problems: string[] = [];
  return {
    planner,
    address: network.address,
    token,
    rest: createRest({ address: api.address, token }),
    browser,
    network,
    problems,
    async open(path = '/', options = {}) {
      const { width = 1280, height = 800, theme = 'light' } = options;
      const viewport = { width, height };
      const context = options.context ?? (await browser.newContext({ viewport, colorScheme: theme }));
      const page = await context.newPage();
      page.on('console', (message) => {
        if (message.type() === 'error' && !expected.test(message.text())) problems.push(message.text());
      });
      page.on('pageerror', (error) => problems.push(String(error)));
      await page.addInitScript(() => {
        addEventListener('securitypolicyviolation', (event) => {
          console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`);
        });
      });
      const given = options.token ?? token;
      await page.goto(network.address + path + (given === '' ? '' : `#token=${given}`));
      return page;
    },
    async close() {
      await browser.close();
      network.close();
      await api.close();
      await listener.close();
      if (!given) await planner.close();
    },
  };
}

export interface Network {
  address: string;
  /** Ends every connection; while `down`, takes no new one. */
  cut(down?: boolean): void;
  up(): void;
  close(): void;
}

async function openNetwork(port: number): Promise<Network> {
  const sockets = new Set<Socket>();
  let down = false;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    return socket;
  };
  const server = createServer((near) => {
    if (down) return void near.destroy();
    const far = keep(connect(port, '127.0.0.1'));
    keep(near).pipe(far).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut(stayDown = false) {
      down = stayDown;
      cut();
    },
    up: () => void (down = false),
    close() {
      server.close();
      cut();
    },
  };
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds serious or critical in the page as it is now, one line each. */
export async function axeFindings(page: Page): Promise<string[]> {
  // Colours that still change are no colours yet.
  await page.evaluate(() => {
    for (const animation of document.getAnimations()) {
      if (animation.effect?.getComputedTiming().endTime === Infinity) animation.cancel();
      else animation.finish();
    }
  });
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<AxeResults> } };
    const { violations } = await axe.run();
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary}`));
  });
}

interface AxeResults {
  violations: { id: string; impact: string; nodes: { target: string[]; failureSummary: string }[] }[];
}
