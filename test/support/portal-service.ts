import { createPorts } from '../../src/dev/processes/free-port.js';
import { startService } from './http/harness.js';
import { launchBrowser, newContext, newPage } from './portal-page.js';

export type PortalService = Awaited<ReturnType<typeof startPortal>>;

/**
 * Starts a service at a free port, and a browser with a page that has no session.
 * @param options.env further configuration of the service
 * @param options.timeoutMs how long the page waits
 */
export async function startPortal(options: { env?: Record<string, string>; timeoutMs?: number } = {}) {
  const ports = createPorts(process.env);
  const open: (() => Promise<unknown>)[] = [() => ports.release()];
  /** Ends what was started, in the reverse order. */
  async function close(): Promise<void> {
    for (const end of open.splice(0).toReversed()) await end();
  }
  try {
    const port = await ports.take();
    const base = `http://127.0.0.1:${port}`;
    const env = { ...options.env, PUBLIC_BASE_URL: base, API_PORT: String(port) };
    const service = await startService({ worker: false, env });
    open.push(() => service.close());
    const browser = await launchBrowser();
    open.push(() => browser.close());
    const context = await newContext(browser);
    const faults: string[] = [];
    const page = await newPage(context, faults, options.timeoutMs);
    return { base, url: `${base}/portal`, service, browser, context, page, faults, close };
  } catch (error) {
    await close();
    throw error;
  }
}
