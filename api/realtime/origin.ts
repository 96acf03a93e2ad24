// Which web pages may open a socket (spec: planner 11). Pure.

/**
 * True when the Origin header is absent (no browser), names the configured public address, or names the very host that
 * the request came to, where that is a loopback name or an IP address: a foreign name that resolves to us is not ours.
 */
export function originAllowed(
  origin: string | undefined,
  host: string | undefined,
  publicUrl: string | undefined,
): boolean {
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  const url = new URL(origin);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return false;
  if (url.username !== '' || url.password !== '' || url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    return false;
  }
  if (publicUrl && URL.canParse(publicUrl) && new URL(publicUrl).origin === url.origin) return true;
  if (!host || !URL.canParse(`${url.protocol}//${host}`)) return false;
  return new URL(`${url.protocol}//${host}`).host === url.host && isLocalName(url.hostname);
}

function isLocalName(hostname: string): boolean {
  return hostname === 'localhost' || hostname.startsWith('[') || /^\d{1,3}(\.\d{1,3}){3}$/.test(hostname);
}
