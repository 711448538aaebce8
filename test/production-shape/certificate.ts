import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { runCommand } from '../../src/dev/processes/run-command.js';

const TIMEOUT_MS = 30_000;
const REQUEST = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2'.split(' ');

export interface Certificate {
  certFile: string;
  keyFile: string;
  cert: string;
  key: string;
}

/** Makes a certificate for these host names and addresses. Clients that trust the certificate itself accept it. */
export async function makeCertificate(folder: string, names: readonly string[]): Promise<Certificate> {
  const [certFile, keyFile] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')];
  const alternatives = `subjectAltName=${names.map((name) => `${isIP(name) ? 'IP' : 'DNS'}:${name}`).join(',')}`;
  await runCommand({
    what: 'making a certificate',
    file: 'openssl',
    args: [...REQUEST, '-keyout', keyFile, '-out', certFile, '-subj', `/CN=${names[0]}`, '-addext', alternatives],
    cwd: folder,
    env: process.env,
    timeoutMs: TIMEOUT_MS,
    report: () => undefined,
  });
  return { certFile, keyFile, cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
}
