import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/slow/**/*.test.ts'],
    // They have a run of their own: `npm run test:claude`.
    exclude: ['test/slow/claude-real*.test.ts'],
    // Browsers and killed processes on a shared machine: what fails twice is broken.
    retry: 1,
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 180_000,
    hookTimeout: 120_000,
    // A browser on a busy machine takes its time; what is waited for must come, not come fast.
    expect: { poll: { timeout: 10_000 } },
    // Most of the time these wait: for a heartbeat to be missed, for a process to be gone.
    maxWorkers: 2,
    passWithNoTests: true,
  },
});
