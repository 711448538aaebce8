import { execFileSync } from 'node:child_process';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createHash, randomUUID } from 'node:crypto';
import { findOnPath } from '../../../src/dev/servers/executables.js';
import { createPorts } from '../../../src/dev/processes/free-port.js';
import { findMongodb } from '../../../src/dev/servers/mongodb/find-mongodb.js';
import { mongodbUri, startMongodb } from '../../../src/dev/servers/mongodb/start-mongodb.js';
import { findTemporal } from '../../../src/dev/servers/temporal/find-temporal.js';
import { openDatabase } from '../../../src/database.js';

jest.setTimeout(300_000);

/**
 * The launcher must report a failed download within this time. The library mongodb-memory-server alone takes 6 s for
 * its three attempts to download mongod.
 */
const REPORTED_WITHIN_MS = 30_000;

describe('finding the embedded servers', () => {
  let folder: string;
  let cache: string;
  let lines: string[];
  const report = (line: string) => lines.push(line);
  const servers: (NetServer & Pick<Server, 'closeAllConnections'>)[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'callwright-test-find-'));
    cache = join(folder, 'cache');
    lines = [];
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    await rm(folder, { recursive: true, force: true });
  });

  async function listen(server: NetServer & Pick<Server, 'closeAllConnections'>): Promise<string> {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /**
   * Starts an HTTPS server as a download mirror, because mongodb-memory-server downloads over HTTPS. The returned `env`
   * makes it trust the server's certificate.
   */
  async function listenSecurely(handler: RequestListener): Promise<{ env: NodeJS.ProcessEnv; url: string }> {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const name = 'subjectAltName=IP:127.0.0.1';
    const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    const files = ['-keyout', key, '-out', cert];
    execFileSync('openssl', ['req', ...kind, ...files, '-subj', '/CN=mirror', '-addext', name], { stdio: 'ignore' });
    const server = createSecureServer({ key: await readFile(key), cert: await readFile(cert) }, handler);
    const url = (await listen(server)).replace('http:', 'https:');
    return { env: { NODE_EXTRA_CA_CERTS: cert }, url };
  }

  const without = (name: string) => ({ ...process.env, CALLWRIGHT_CACHE_DIR: cache, PATH: join(folder, name) });

  async function addProgram(name: string, text = '#!/bin/sh\n'): Promise<string> {
    const bin = join(folder, 'bin');
    await mkdir(bin, { recursive: true });
    await writeFile(join(bin, name), text);
    await chmod(join(bin, name), 0o755);
    return bin;
  }

  it('prefers mongod and the Temporal CLI on PATH', async () => {
    const bin = await addProgram('mongod');
    await addProgram('temporal');
    const env = { ...process.env, CALLWRIGHT_CACHE_DIR: cache, PATH: bin };
    const dataFolder = join(folder, 'data');
    await expect(findMongodb({ env, report, dataFolder })).resolves.toEqual({
      kind: 'mongod',
      file: join(bin, 'mongod'),
    });
    await expect(findTemporal({ env, report })).resolves.toBe(join(bin, 'temporal'));
    expect(lines).toEqual([]);
  });

  it('uses a Temporal CLI from the cache next', async () => {
    await mkdir(join(cache, 'temporal-1.5.1'), { recursive: true });
    const cached = join(cache, 'temporal-1.5.1', 'temporal');
    await writeFile(cached, '#!/bin/sh\n', { mode: 0o755 });
    await expect(findTemporal({ env: without('none'), report })).resolves.toBe(cached);
    expect(lines).toEqual([]);
  });

  it('downloads mongod once from the configured mirror, and it runs', async () => {
    const requests: string[] = [];
    const archive = await archiveOf(await standInAsMongod());
    const { env, url } = await listenSecurely((request, response) => {
      requests.push(request.url ?? '');
      const isChecksum = request.url?.endsWith('.md5');
      const body = isChecksum ? createHash('md5').update(archive).digest('hex') : archive;
      response.writeHead(200, { 'content-length': body.length }).end(body);
    });
    const dataFolder = join(folder, 'data');
    const mirrored = { ...without('none'), ...env, MONGOMS_DOWNLOAD_MIRROR: url };
    const found = await findMongodb({ env: mirrored, report, dataFolder });
    expect(found.kind).toBe('mongod');
    expect(requests[0]).toMatch(/^\/linux\/mongodb-linux-.*-8\.0\.\d+\.tgz$/);
    const times = requests.length;
    await expect(findMongodb({ env: mirrored, report, dataFolder })).resolves.toEqual(found);
    expect(requests).toHaveLength(times);

    const ports = createPorts(mirrored);
    const port = await ports.take();
    const server = await startMongodb({ program: found, dataFolder, port, env: process.env });
    try {
      const database = await openDatabase(mongodbUri(found, port, randomUUID()));
      await expect(database.calls.countDocuments()).resolves.toBe(0);
      await database.close();
    } finally {
      await server.stop();
      await ports.release();
    }
  });

  it('builds the stand-in if the mirror has no mongod, reports it in one line, and keeps it for existing data', async () => {
    const mirror = await listenSecurely((_, response) => response.writeHead(404).end());
    const env = { ...process.env, CALLWRIGHT_CACHE_DIR: cache, ...mirror.env, MONGOMS_DOWNLOAD_MIRROR: mirror.url };
    const dataFolder = join(folder, 'data');
    const startedAt = Date.now();
    let reportedAfter = Infinity;
    const found = await findMongodb({
      env,
      dataFolder,
      report: (line) => {
        report(line);
        if (line.includes('the official download of')) reportedAfter = Date.now() - startedAt;
      },
    });
    expect(found.kind).toBe('embedded');
    expect(reportedAfter).toBeLessThan(REPORTED_WITHIN_MS);
    await mkdir(dataFolder);
    await writeFile(join(dataFolder, 'data.mv'), '');
    const PATH = `${await addProgram('mongod')}:${process.env.PATH}`;
    await expect(findMongodb({ env: { ...env, PATH }, report, dataFolder })).resolves.toEqual(found);
    expect(lines.filter((line) => line.includes('the official download of'))).toHaveLength(1);
    expect(lines.join('\n')).not.toContain('    at ');
  });

  it('reports within seconds that the Temporal CLI cannot be downloaded, and names what to install', async () => {
    const requests: string[] = [];
    const proxy = createServer();
    proxy.on('connect', (request, socket) => {
      requests.push(request.url ?? '');
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    const env = { ...without('none'), HTTPS_PROXY: await listen(proxy) };
    const startedAt = Date.now();
    await expect(findTemporal({ env, report })).rejects.toThrow(/`go` was not found on PATH.*TEMPORAL_ADDRESS/);
    expect(Date.now() - startedAt).toBeLessThan(REPORTED_WITHIN_MS);
    expect(requests).toContain('temporal.download:443');
    expect(lines.filter((line) => line.includes('the official download of'))).toHaveLength(1);
  });

  it('names what to install or configure when MongoDB cannot be provided', async () => {
    const mirror = await listenSecurely((_, response) => response.writeHead(404).end());
    const env = { ...without('none'), ...mirror.env, MONGOMS_DOWNLOAD_MIRROR: mirror.url };
    const found = findMongodb({ env, report, dataFolder: join(folder, 'data') });
    await expect(found).rejects.toThrow(/`java` was not found on PATH.*JDK.*Maven.*MONGODB_URI/);
  });

  /**
   * Returns the content of an executable file that can be used as mongod: mongod itself if it is installed, otherwise a
   * shell script that accepts mongod's options and starts the MongoDB stand-in (mongo-java-server, built from Maven
   * packages).
   */
  async function standInAsMongod(): Promise<string> {
    const found = await findMongodb({ env: process.env, report: () => undefined, dataFolder: join(folder, 'other') });
    if (found.kind === 'mongod') return readFile(found.file, 'latin1');
    const java = await findOnPath('java', process.env);
    const classes = `${found.folder}/classes:${found.folder}/lib/*`;
    return `#!/bin/sh\n[ "$1 $3" = "--dbpath --port" ] && exec ${java} -cp '${classes}' EmbeddedMongo "$2" "$4"\n`;
  }

  async function archiveOf(mongod: string): Promise<Buffer> {
    const top = join(folder, 'mongodb-linux-x86_64-8.0.0');
    await mkdir(join(top, 'bin'), { recursive: true });
    await writeFile(join(top, 'bin', 'mongod'), mongod, { mode: 0o755, encoding: 'latin1' });
    return execFileSync('tar', ['-czf', '-', '-C', folder, basename(top)], { maxBuffer: 1e9 });
  }
});
