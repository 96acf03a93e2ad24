#!/usr/bin/env node
// The `planner` command for any Node >= 20.

import { launch } from './launch.mjs';

await launch('planner');
