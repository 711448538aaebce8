import type { Mode } from '../../../kernel/ids.js';

const OF_MODE = /^\/portal\/(test|live)(?=\/|$)/;
const STORED_AS = 'callwright-mode';

/** Returns the mode in a portal path; undefined for public pages and for links from before the mode was part of them. */
export function modeIn(path: string): Mode | undefined {
  return OF_MODE.exec(path)?.[1] as Mode | undefined;
}

/** Returns a portal path. @param path the path within the mode, such as `/calls`; empty for the home page */
export const pathIn = (mode: Mode, path: string) => `/portal/${mode}${path}`;

/** Returns the path within its mode: `/calls` for `/portal/test/calls`. */
export const withoutMode = (path: string) => path.replace(OF_MODE, '').replace(/^\/portal(?=\/|$)/, '');

export const otherMode = (mode: Mode): Mode => (mode === 'test' ? 'live' : 'test');

/** The mode of the last page that this browser showed, for the next visit. */
export const storedMode = (): Mode => (localStorage.getItem(STORED_AS) === 'live' ? 'live' : 'test');
export const storeMode = (mode: Mode) => localStorage.setItem(STORED_AS, mode);
