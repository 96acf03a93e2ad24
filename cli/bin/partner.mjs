#!/usr/bin/env node
// The `partner` command for any Node >= 20.

import { launch } from './launch.mjs';

await launch('partner');
