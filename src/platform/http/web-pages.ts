/** Whether a web page sent the request. False for a program, or for a person who typed the address. */
export function isFromWebPage(headers: Readonly<Record<string, string | string[] | undefined>>): boolean {
  return headers['origin'] !== undefined || headers['sec-fetch-site'] === 'cross-site';
}
