// Which addresses a link of model or human text may have. Pure.

/** Absolute http, https and mailto addresses; anything else becomes none. */
export function safeAddress(address: string): string {
  if (!/^(https?:\/\/|mailto:)/i.test(address)) return '';
  return URL.canParse(address) ? address : '';
}
