import { useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import type { Api } from '../api';
import { Empty, Skeleton } from '../components/feedback';
import { usePortal } from '../session';
import { useData } from '../use-data';
import { otherMode, pathIn, storedMode, withoutMode } from './paths';

/** A portal path of something that exists in one mode, and where the API has it. */
const THING = /^\/(calls|agents)\/((?:call|agent)_\w{1,64})$/;

/** Whether something exists in a mode. */
function existsIn(api: Api, mode: 'live' | 'test', path: string, signal: AbortSignal): Promise<boolean> {
  return api.get(path, { mode }, signal).then(
    () => true,
    () => false,
  );
}

/** Leads from a link without a mode to the page in the mode of the call or agent, or else in the mode of the last visit. */
export function OldLink() {
  const { api } = usePortal();
  const { url, path, route } = useLocation();
  const page = withoutMode(path);
  const mode = useData(path, async (signal) => {
    const last = storedMode();
    if (!THING.test(page) || (await existsIn(api, last, page, signal))) return last;
    return (await existsIn(api, otherMode(last), page, signal)) ? otherMode(last) : last;
  });
  useEffect(() => {
    if (mode.data !== undefined) route(pathIn(mode.data, page) + new URL(url, location.origin).search, true);
  }, [mode.data]);
  return <Skeleton />;
}

/** Shows that something was not found and, if it exists in the other mode, leads there. */
export function NotInThisMode({ what, path, error }: { what: 'call' | 'agent'; path: string; error: Error }) {
  const { api, mode, to } = usePortal();
  const other = otherMode(mode);
  const found = useData(`${other} ${path}`, (signal) => existsIn(api, other, path, signal));
  if (found.data === undefined) return <Skeleton />;
  if (!found.data) {
    return (
      <div role="alert">
        <Empty
          icon="search"
          title={`This ${what} does not exist`}
          actions={
            <a class="button" href={to(`/${what}s`)}>
              All {what}s
            </a>
          }
        >
          {error.message} The link may be old, or belong to another account.
        </Empty>
      </div>
    );
  }
  return (
    <div class="notice" role="status">
      <p>
        This {what} belongs to {other} mode, and you are in {mode} mode.
      </p>
      <a class="button" href={pathIn(other, path)}>
        Switch to {other} mode
      </a>
    </div>
  );
}
