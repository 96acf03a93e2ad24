import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/histories/record*.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
