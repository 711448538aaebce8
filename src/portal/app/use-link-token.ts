import { useState } from 'preact/hooks';

/** The token of an e-mail's link. It is taken out of the address, so that it is not in the history or a bookmark. */
export function useLinkToken(): string {
  const [token] = useState(() => {
    const found = /^#token=([\w-]{1,128})$/.exec(location.hash)?.[1] ?? '';
    if (found !== '') history.replaceState(history.state, '', location.pathname + location.search);
    return found;
  });
  return token;
}
