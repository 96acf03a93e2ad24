// The command line of `partner config`.

import type { Command } from 'commander';
import { Option } from 'commander';
import { backends, efforts } from '../../domain/bounded/identity.ts';
import type { Environment } from '../target.ts';
import {
  getConfig,
  identityKeys,
  initConfig,
  resolveConfig,
  setConfig,
  validateConfig,
  type Change,
  type GetOptions,
  type Whose,
} from './config.ts';
import type { Scope } from './config-files.ts';
import { hostOption, jsonOption, placeOf, repoOption, roleOption, scopeOption } from './options.ts';

interface At {
  repo?: string;
  scope?: Scope;
}

export function addConfigCommands(program: Command, env: Environment, print: (text: string) => void): void {
  const config = program
    .command('config')
    .description(
      'which backend, model and effort answer for a role: .partner/config.toml over ~/.config/partner/config.toml',
    );

  config
    .command('get')
    .description('what the files say')
    .addOption(hostOption())
    .addOption(roleOption())
    .addOption(new Option('--key <key>', 'one value').choices([...identityKeys]))
    .addOption(repoOption())
    .addOption(scopeOption())
    .addOption(jsonOption())
    .action((options: At & GetOptions) => print(getConfig(placeOf(options, env), options)));

  config
    .command('set')
    .description('set fields of an identity; what changes must be verified anew ("partner verify")')
    .addOption(hostOption().makeOptionMandatory())
    .addOption(roleOption().makeOptionMandatory())
    .addOption(new Option('--backend <backend>', 'what answers').choices([...backends]))
    .option('--model <model>', 'its full name, no alias, such as claude-opus-4-8')
    .addOption(new Option('--effort <effort>', 'how hard it thinks').choices([...efforts]))
    .addOption(repoOption())
    .addOption(scopeOption())
    .action(async ({ backend, model, effort, host, role, ...at }: At & Whose & Change) => {
      const change: Change = {
        ...(backend ? { backend } : {}),
        ...(model ? { model } : {}),
        ...(effort ? { effort } : {}),
      };
      print(await setConfig(placeOf(at, env), { host, role }, change));
    });

  config
    .command('resolve')
    .description('the identity that a run would use')
    .addOption(hostOption().makeOptionMandatory())
    .addOption(roleOption().makeOptionMandatory())
    .option('--allow-unverified', 'also one that is not verified', false)
    .addOption(repoOption())
    .addOption(jsonOption())
    .action((options: At & Whose & { allowUnverified: boolean; json?: boolean }) => {
      const { host, role } = options;
      print(resolveConfig(placeOf(options, env), { host, role }, options));
    });

  config
    .command('validate')
    .description('check both files')
    .addOption(repoOption())
    .action((options: At) => print(validateConfig(placeOf(options, env))));

  config
    .command('init')
    .description("make a file to fill, by default the user's")
    .addOption(repoOption())
    .addOption(scopeOption())
    .action(async (options: At) => print(await initConfig(placeOf(options, env))));
}
