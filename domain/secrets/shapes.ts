// Token shapes: texts that are a secret by their form alone, whatever stands around them (spec: bounded-claude 2).

import { isPlaceholder, isRandom, isSequence } from './harmless.ts';

export interface Found {
  kind: string;
  /** UTF-16 indices into the text, `end` exclusive. */
  start: number;
  end: number;
}

interface Family {
  kind: string;
  /** Group `body` is the random part; without it the whole match is one. */
  pattern: RegExp;
  /** The prefix is also an ordinary word's end or a slug's beginning: the body must look random. */
  random?: boolean;
  /** A shape that can't be a placeholder. */
  sure?: boolean;
}

/** Not within a word or a longer encoded text; prefixes that no word holds are found glued to a word, too. */
const left = '(?<![A-Za-z0-9_-])';

const shape = (kind: string, source: string, more: Omit<Family, 'kind' | 'pattern'> = {}): Family => ({
  kind,
  pattern: new RegExp(source, 'g'),
  ...more,
});

const families: Family[] = [
  shape('private-key', '-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----', { sure: true }),
  shape('private-key', 'PuTTY-User-Key-File-\\d:', { sure: true }),
  shape('private-key', `AGE-SECRET-KEY-1(?<body>[A-Z0-9]{40,})`),
  shape('github-token', 'gh[pousr]_(?<body>[A-Za-z0-9]{20,})'),
  shape('github-token', 'github_pat_(?<body>[A-Za-z0-9_]{20,})'),
  shape(
    'gitlab-token',
    `${left}gl(?:pat|dt|rt|rtr|ptt|cbt|soat|imt|agent|oas|ft|ffct|sct|wt)-(?<body>[A-Za-z0-9_.-]{16,})`,
    { random: true },
  ),
  shape('gitlab-token', `${left}GR1348941(?<body>[A-Za-z0-9_-]{16,})`),
  shape('planner-token', '(?<![A-Za-z0-9])plt_(?<body>[A-Za-z0-9_-]{40,})', { random: true }),
  shape('npm-token', 'npm_(?<body>[A-Za-z0-9]{30,})', { random: true }),
  shape('pypi-token', 'pypi-AgE(?<body>[A-Za-z0-9_-]{40,})'),
  shape('rubygems-token', 'rubygems_(?<body>[a-f0-9]{40,})'),
  shape('google-api-key', 'AIza(?<body>[A-Za-z0-9_-]{30,})', { random: true }),
  shape('google-oauth-token', `${left}ya29\\.(?<body>[A-Za-z0-9_-]{16,})`, { random: true }),
  shape('google-oauth-token', `${left}1//0(?<body>[A-Za-z0-9_-]{30,})`, { random: true }),
  shape('google-client-secret', 'GOCSPX-(?<body>[A-Za-z0-9_-]{20,})', { random: true }),
  shape('anthropic-key', '(?<![A-Za-z0-9])sk-ant-(?<body>[A-Za-z0-9_-]{16,})', { random: true }),
  shape('openai-key', '(?<![A-Za-z0-9])sk-(?!ant-)(?<body>[A-Za-z0-9_-]{16,})', { random: true }),
  shape('aws-access-key-id', '(?<![A-Za-z0-9+/_-])(?:AKIA|ASIA|ABIA|ACCA)(?<body>[A-Z0-9]{16})(?![A-Za-z0-9+/=])'),
  shape('slack-token', `${left}xox[a-z](?:\\.xox[a-z])?-(?<body>[A-Za-z0-9-]{10,})`, { random: true }),
  shape('slack-token', `${left}xapp-\\d-(?<body>[A-Za-z0-9-]{10,})`, { random: true }),
  shape(
    'slack-webhook',
    'hooks\\.slack\\.com/(?:services|workflows|triggers)/(?<body>[A-Za-z0-9/_-]{20,})',
    { random: true },
  ),
  shape('discord-webhook', 'discord(?:app)?\\.com/api/webhooks/\\d{5,}/(?<body>[A-Za-z0-9_-]{30,})', { random: true }),
  shape(
    'discord-token',
    `${left}[MNO][A-Za-z\\d_-]{23,27}\\.[A-Za-z\\d_-]{6,7}\\.(?<body>[A-Za-z\\d_-]{27,})`,
    { random: true },
  ),
  shape('stripe-key', '(?<![A-Za-z0-9])(?:sk|rk)_(?:live|test)_(?<body>[A-Za-z0-9]{16,})'),
  shape('webhook-secret', '(?<![A-Za-z0-9])whsec_(?<body>[A-Za-z0-9+/=]{20,})'),
  shape('sendgrid-key', `${left}SG\\.(?<body>[A-Za-z0-9_-]{16,}\\.[A-Za-z0-9_-]{16,})`, { random: true }),
  shape('twilio-key', '(?<![A-Za-z0-9])SK(?<body>[0-9a-f]{32})(?![A-Za-z0-9])'),
  shape('mailgun-key', `${left}key-(?<body>[0-9a-f]{32})(?![A-Za-z0-9])`),
  shape('mailchimp-key', '(?<![A-Za-z0-9])(?<body>[0-9a-f]{32})-us\\d{1,2}(?![A-Za-z0-9])'),
  shape('huggingface-token', '(?<![A-Za-z0-9])(?:hf|api_org)_(?<body>[A-Za-z0-9]{30,})', { random: true }),
  shape('groq-key', '(?<![A-Za-z0-9])gsk_(?<body>[A-Za-z0-9]{20,})', { random: true }),
  shape('xai-key', `${left}xai-(?<body>[A-Za-z0-9_-]{20,})`, { random: true }),
  shape(
    'model-provider-key',
    `${left}(?:pplx|fw|nvapi|csk|tvly|tgp_v1|jina|dsk)[-_](?<body>[A-Za-z0-9_-]{24,})`,
    { random: true },
  ),
  shape('model-provider-key', '(?<![A-Za-z0-9])(?:r8|lsv2_pt|lsv2_sk)_(?<body>[A-Za-z0-9_]{24,})', { random: true }),
  shape('telegram-token', '(?<!\\d)\\d{8,10}:AA(?<body>[A-Za-z0-9_-]{30,})', { random: true }),
  shape('shopify-token', 'shp(?:at|ca|pa|ss|ua)_(?<body>[A-Fa-f0-9]{24,})'),
  shape('digitalocean-token', 'do[opr]_v1_(?<body>[a-f0-9]{40,})'),
  shape('docker-token', 'dckr_(?:pat|oat)_(?<body>[A-Za-z0-9_-]{20,})'),
  shape('databricks-token', '(?<![A-Za-z0-9])dapi(?<body>[a-f0-9]{32})'),
  shape('vault-token', `${left}hv[sbr]\\.(?<body>[A-Za-z0-9_-]{20,})`, { random: true }),
  shape('linear-token', 'lin_(?:api|oauth)_(?<body>[A-Za-z0-9]{30,})'),
  shape('notion-token', '(?<![A-Za-z0-9])(?:secret|ntn)_(?<body>[A-Za-z0-9]{36,})', { random: true }),
  shape('figma-token', 'figd_(?<body>[A-Za-z0-9_-]{30,})', { random: true }),
  shape('grafana-token', '(?<![A-Za-z0-9])gl(?:c|sa)_(?<body>[A-Za-z0-9_+/=]{24,})', { random: true }),
  shape('supabase-token', '(?<![A-Za-z0-9])sb(?:p|_secret)_(?<body>[A-Za-z0-9_-]{24,})', { random: true }),
  shape('atlassian-token', 'AT(?:ATT|CTT|BB)3?(?<body>[A-Za-z0-9_=-]{40,})', { random: true }),
  shape('sentry-token', 'sntry[su]_(?<body>[A-Za-z0-9_=+/-]{30,})', { random: true }),
  shape('doppler-token', `${left}dp\\.(?:pt|st|ct|sa|scim|audit)\\.(?<body>[A-Za-z0-9._-]{24,})`, { random: true }),
  shape('planetscale-token', 'pscale_(?:tkn|pw|oauth)_(?<body>[A-Za-z0-9_.=-]{24,})', { random: true }),
  shape('tailscale-key', `${left}tskey-(?:[a-z]+-)?(?<body>[A-Za-z0-9-]{16,})`, { random: true }),
  shape('square-token', '(?<![A-Za-z0-9])sq0[a-z]{3}-(?<body>[A-Za-z0-9_-]{22,})', { random: true }),
  shape('newrelic-key', '(?<![A-Za-z0-9])NRAK-(?<body>[A-Z0-9]{20,})'),
  shape('postman-key', '(?<![A-Za-z0-9])PMAK-(?<body>[a-f0-9-]{40,})'),
  shape('fly-token', '(?<![A-Za-z0-9])fm2_(?<body>[A-Za-z0-9+/=_-]{40,})', { random: true }),
  shape('1password-token', '(?<![A-Za-z0-9])ops_eyJ(?<body>[A-Za-z0-9_-]{40,})'),
  shape('azure-key', '(?:AccountKey|SharedAccessKey)=(?<body>[A-Za-z0-9+/]{40,}={0,2})', { random: true }),
  shape(
    'signed-url',
    '[?&](?:X-Amz-Signature|X-Goog-Signature|Signature|sig)=(?<body>[A-Za-z0-9%+/=_-]{32,})',
    { random: true },
  ),
  shape(
    'jwt',
    '(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\\.eyJ[A-Za-z0-9_-]{8,}\\.(?<body>[A-Za-z0-9_-]{8,})',
    { sure: true },
  ),
  shape(
    'jwt',
    '(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]*(?:\\.[A-Za-z0-9_-]{8,}){3}',
    { sure: true },
  ),
];

/** Every text of a known token shape. A match goes on to the end of its run of characters, so no tail is left. */
export function findTokens(text: string): Found[] {
  return families.flatMap((family) => [...text.matchAll(family.pattern)].flatMap((match) => {
    const body = match.groups?.['body'] ?? match[0];
    const harmless = family.random ? !isRandom(body, 8) : isPlaceholder(body) || isSequence(body);
    if (harmless && !family.sure) return [];
    const start = match.index;
    const end = family.kind === 'private-key' ? keyEnd(text, start + match[0].length) : runEnd(
      text,
      start + match[0].length,
    );
    return [{ kind: family.kind, start, end }];
  }));
}

/** The end of the run of token characters that goes on after `at`. */
export function runEnd(text: string, at: number): number {
  const rest = /[A-Za-z0-9_-]*/y;
  rest.lastIndex = at;
  return at + (rest.exec(text)?.[0].length ?? 0);
}

/** The end of a private key: its END line, else the end of what can still belong to it. */
function keyEnd(text: string, at: number): number {
  const rest = text.slice(at, at + 20_000);
  const closing = /-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----/.exec(rest);
  if (closing) return at + closing.index + closing[0].length;
  const lines = /^(?:\\[nr]|[ \t]*[\r\n]+|[A-Za-z][A-Za-z0-9-]*: [^\r\n]*|[>|* \t]*[A-Za-z0-9+/=]{16,})+/.exec(rest);
  return at + (lines?.[0].length ?? 0);
}
