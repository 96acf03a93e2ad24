// Where the built page lies. Known to the builder and to the API that serves it.

import { fileURLToPath } from 'node:url';

export const pageFolder = fileURLToPath(new URL('../dist/web', import.meta.url));
