import type { IconName } from '../components/icon';
import { withoutMode } from './paths';

/** A page of the navigation. */
interface NavigationPage {
  /** Path within its mode. */
  path: string;
  name: string;
  icon: IconName;
  /** The key that opens the page after G. */
  key: string;
}

/** The pages of the navigation, in order. */
export const PAGES: readonly NavigationPage[] = [
  { path: '', name: 'Home', icon: 'home', key: 'h' },
  { path: '/calls', name: 'Calls', icon: 'calls', key: 'c' },
  { path: '/agents', name: 'Agents', icon: 'agents', key: 'a' },
  { path: '/numbers', name: 'Phone numbers', icon: 'numbers', key: 'n' },
  { path: '/usage', name: 'Usage', icon: 'usage', key: 'u' },
  { path: '/keys', name: 'API keys', icon: 'keys', key: 'k' },
  { path: '/webhooks', name: 'Webhooks', icon: 'webhooks', key: 'w' },
  { path: '/settings', name: 'Settings', icon: 'settings', key: 's' },
];

/**
 * Whether a page of the navigation, or one below it, is shown.
 * @param page path within its mode
 */
export function isCurrent(page: string, path: string): boolean {
  const shown = withoutMode(path);
  return shown === page || (page !== '' && shown.startsWith(`${page}/`));
}

/** A path of something that exists in one mode only. */
const OF_ONE_MODE = /\/(call|agent)_\w+$/;

/** Returns the path, within its mode, of the page that another mode shows instead of the one at this URL. */
export function pageInOtherMode(url: string, path: string): string {
  const inMode = withoutMode(path);
  return OF_ONE_MODE.test(inMode) ? inMode.replace(OF_ONE_MODE, '') : inMode + new URL(url, location.origin).search;
}
