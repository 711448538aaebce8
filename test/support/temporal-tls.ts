import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { runCommand } from '../../src/dev/processes/run-command.js';

const REQUEST = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2'.split(' ');

/** Paths of a certificate and its key in PEM. */
export interface CertificateFiles {
  cert: string;
  key: string;
}

/** Makes a certificate for a name: of an authority, or of a server or client if `issuer` is given. */
export async function issueCertificate(
  folder: string,
  p: { file: string; name: string; issuer?: CertificateFiles },
): Promise<CertificateFiles> {
  const files = { cert: join(folder, `${p.file}.pem`), key: join(folder, `${p.file}.key`) };
  const leaf = ['-addext', 'basicConstraints=critical,CA:FALSE', '-addext', `subjectAltName=DNS:${p.name}`];
  const issued = p.issuer === undefined ? [] : ['-CA', p.issuer.cert, '-CAkey', p.issuer.key, ...leaf];
  await runCommand({
    what: 'making a certificate',
    file: 'openssl',
    args: [...REQUEST, '-keyout', files.key, '-out', files.cert, '-subj', `/CN=${p.name}`, ...issued],
    cwd: folder,
    env: process.env,
    timeoutMs: 30_000,
    report: () => undefined,
  });
  return files;
}

/** Puts TLS in front of a Temporal server, which then admits only clients with a certificate of this authority. */
export async function startTlsFrontend(p: { temporal: string; server: CertificateFiles; authority: CertificateFiles }) {
  const [host = '', port] = p.temporal.split(':');
  const [cert, key, ca] = await Promise.all([p.server.cert, p.server.key, p.authority.cert].map((f) => readFile(f)));
  const options = { cert, key, ca, requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['h2'] };
  const sockets = new Set<{ destroy(): unknown }>();
  const server = createServer(options, (client) => {
    const temporal = connect(Number(port), host);
    for (const [socket, other] of [
      [client, temporal],
      [temporal, client],
    ] as const) {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      socket.on('error', () => other.destroy());
      socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
