// Starts what the tests share, once a run.

import { startServers } from './servers.ts';

export default startServers;
