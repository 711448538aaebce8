/** Whether the browser says that a web page sent the request. Programs, and people who type an address, are not pages. */
export function isFromWebPage(headers: Readonly<Record<string, string | string[] | undefined>>): boolean {
  return headers['origin'] !== undefined || headers['sec-fetch-site'] === 'cross-site';
}
