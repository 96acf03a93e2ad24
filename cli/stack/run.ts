// Runs a command to its end; it ends with this process.

import { spawn } from 'node:child_process';

/** Runs a command to its end. `folder`: an open folder that it finds as file descriptor 3. */
export function run(
  command: string,
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; uid?: number; gid?: number; cwd?: string; folder?: number } = {},
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const { folder, ...rest } = options;
    const child = spawn(command, args, { ...rest, stdio: ['ignore', 'pipe', 'pipe', ...(folder ? [folder] : [])] });
    let output = '';
    const collect = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout?.on('data', collect);
    child.stderr?.on('data', collect);
    const end = (): unknown => child.kill();
    process.once('exit', end);
    const settle = (result: { code: number | null; output: string }): void => {
      process.off('exit', end);
      resolve(result);
    };
    child.on('error', (error) => settle({ code: null, output: error.message }));
    child.on('close', (code) => settle({ code, output }));
  });
}
