import { useState } from 'preact/hooks';

/** Reads the token of an email link and removes it from the URL, so that history and bookmarks do not contain it. */
export function useLinkToken(): string {
  const [token] = useState(() => {
    const found = /^#token=([\w-]{1,128})$/.exec(location.hash)?.[1] ?? '';
    if (found !== '') history.replaceState(history.state, '', location.pathname + location.search);
    return found;
  });
  return token;
}
