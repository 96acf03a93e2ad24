// Process entry of the built-in demo model. DEMO_MODEL_PORT: default 0, a free one; DEMO_MODEL_DELAY_MS: between two
// words, default 15.

import { startDemoModel } from './server.ts';

function setting(name: string, fallback: number, most: number): number {
  const text = process.env[name] ?? '';
  if (text === '') return fallback;
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value <= most) return value;
  console.error(`${name} must be a whole number from 0 to ${most}, not "${text}".`);
  process.exit(1);
}

const server = await startDemoModel({
  port: setting('DEMO_MODEL_PORT', 0, 65_535),
  delayMs: setting('DEMO_MODEL_DELAY_MS', 15, 10_000),
}).catch((error: unknown) => {
  const reason = error instanceof Error ? error.message : String(error);
  console.error(`The demo model can't start: ${reason}. Set DEMO_MODEL_PORT.`);
  process.exit(1);
});
console.log(JSON.stringify({ ready: true, address: server.address, base_url: `${server.address}/v1` }));

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void server.close().then(() => process.exit(0)));
}
