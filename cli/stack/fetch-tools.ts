// Fetches the named tools, else what the tests need: PostgreSQL, Temporal's dev server and its test server, the sentence
// model. Does nothing when all are there.

import { fetchTool, isToolName, ToolError, type ToolName } from './tools.ts';

const named = process.argv.slice(2).filter(isToolName);
const wanted: ToolName[] = ['test-server', 'minilm', 'onnxruntime'];
if (!process.env['TEST_DATABASE_URL']) wanted.push('postgres');
if (!process.env['TEST_TEMPORAL_ADDRESS']) wanted.push('temporal');

try {
  for (const name of named.length > 0 ? named : wanted) await fetchTool(name, (line) => console.log(line));
} catch (error) {
  if (!(error instanceof ToolError)) throw error;
  console.error(error.message);
  console.error('For tests: TEST_DATABASE_URL and TEST_TEMPORAL_ADDRESS name running ones.');
  process.exitCode = 1;
}
