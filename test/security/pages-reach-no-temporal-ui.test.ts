import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createPorts, type Ports } from '../../src/dev/processes/free-port.js';
import type { ServerProcess } from '../../src/dev/servers/server-process.js';
import { prepareTemporal } from '../../src/dev/servers/servers.js';
import { rawRequest, sendBytes } from '../support/hostile-requests.js';

let dataFolder: string;
let ports: Ports;
let temporal: Awaited<ReturnType<typeof prepareTemporal>>;
let server: ServerProcess | undefined;
beforeAll(async () => {
  dataFolder = await mkdtemp(path.join(tmpdir(), 'callwright-ui-'));
  const { TEMPORAL_ADDRESS: _others, ...env } = process.env;
  const { signal } = new AbortController();
  ports = createPorts(env);
  temporal = await prepareTemporal({ env, dataFolder, ports, report: () => undefined, signal });
  server = await temporal.start?.(signal);
  // Waits until Temporal has printed its addresses. It prints them some time after it begins to serve workflows, so its
  // UI has had time to start.
  await eventually(() => Promise.resolve(server?.lastOutput().includes('Metrics:')));
  await eventually(async () => (await fetch(`${temporal.uiUrl}/api/v1/namespaces`)).ok);
}, 120_000);
afterAll(async () => {
  await temporal.proxy?.close();
  await server?.stop();
  await ports.release();
  await rm(dataFolder, { recursive: true, force: true });
});

async function eventually(look: () => Promise<unknown>): Promise<void> {
  for (const giveUpAt = Date.now() + 30_000; !(await look());) {
    if (Date.now() > giveUpAt) throw new Error(`It did not come to be within 30 s: ${server?.lastOutput()}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const portOf = (url: string) => Number(new URL(url).port);
const ask = (port: number, headers: Record<string, string>, of = '/api/v1/namespaces', method = 'GET') => {
  const bytes = rawRequest({ method, path: of, headers: { 'Content-Length': '0', Connection: 'close', ...headers } });
  return sendBytes(port, Buffer.from(bytes), { forMs: 5_000 });
};

/** Returns the ports of 127.0.0.1 on which a process listens, as reported by Linux. */
async function portsOf(pid: number): Promise<number[]> {
  const folder = `/proc/${pid}/fd`;
  const links = await Promise.all((await readdir(folder)).map((fd) => readlink(path.join(folder, fd)).catch(() => '')));
  const rows = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((line) => line.trim().split(/\s+/));
  const listening = rows.filter(([, local, , state, , , , , , inode]) => {
    return state === '0A' && local?.startsWith('0100007F:') && links.includes(`socket:[${inode}]`);
  });
  return listening.map(([, local]) => parseInt(String(local).slice(9), 16));
}

describe('a web page in an operator’s browser', () => {
  it('cannot read or end workflows by a host name that resolves to the Temporal UI', async () => {
    const port = portOf(temporal.uiUrl);
    for (const Host of ['evil.example', `evil.example:${port}`, 'localhost.evil.example', '']) {
      expect(await ask(port, { Host })).toMatch(/^HTTP\/1\.1 403 /);
    }
    const absolute = await ask(port, { Host: `127.0.0.1:${port}` }, 'http://evil.example/api/v1/namespaces');
    expect(absolute).toMatch(/^HTTP\/1\.1 403 /);
  });

  it('cannot read or end workflows by the address of the UI, though links to it work', async () => {
    const port = portOf(temporal.uiUrl);
    const Host = `127.0.0.1:${port}`;
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors' },
    ]) {
      expect(await ask(port, { Host, ...headers })).toMatch(/^HTTP\/1\.1 403 /);
      expect(await ask(port, { Host, ...headers }, '/api/v1/namespaces/default/workflows/x/terminate', 'POST')).toMatch(
        /^HTTP\/1\.1 403 /,
      );
    }
    const link = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' };
    expect(await ask(port, { Host, ...link }, '/')).toMatch(/^HTTP\/1\.1 200 /);
  });

  const onLinux = process.platform === 'linux' ? it : it.skip;
  onLinux('cannot read workflows by any other port that Temporal opens', async () => {
    const opened = await portsOf(server?.pid ?? 0);
    // The open ports are those for Temporal's protocol, the unused HTTP interface, metrics, and connections between its
    // parts.
    expect(opened.length).toBeGreaterThanOrEqual(3);
    for (const port of opened) {
      for (const Host of ['evil.example', `127.0.0.1:${port}`, 'localhost']) {
        expect([port, await ask(port, { Host })]).toEqual([port, expect.not.stringMatching(/^HTTP\/1\.1 200 /)]);
      }
    }
  });

  it('does not prevent the operator from opening the UI at its address, with the workflows', async () => {
    for (const host of [`127.0.0.1:${portOf(temporal.uiUrl)}`, `localhost:${portOf(temporal.uiUrl)}`]) {
      const page = await ask(portOf(temporal.uiUrl), { Host: host }, '/namespaces/default/workflows');
      expect(page).toMatch(/^HTTP\/1\.1 200 [\s\S]*<html/);
      const own = { Host: host, Origin: `http://${host}`, 'Sec-Fetch-Site': 'same-origin' };
      expect(await ask(portOf(temporal.uiUrl), own)).toContain('"default"');
    }
  });
});
