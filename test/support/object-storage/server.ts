import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buildGoProgram, type GoProgram } from '../../../src/dev/servers/go-program.js';
import type { Report } from '../../../src/dev/processes/run-command.js';
import { probePort, startReady, type ServerProcess } from '../../../src/dev/servers/server-process.js';
import { ACCESS_KEY_ID, SECRET_ACCESS_KEY } from './credentials.js';

/**
 * Versity's S3 gateway. It checks signatures, checksums and the size of parts as S3 does, keeps versions, and is built in
 * two minutes. It accepts requests to encrypt, but stores nothing encrypted.
 */
const VERSITYGW: GoProgram = {
  label: 'versitygw',
  name: 'versitygw',
  version: '1.8.0',
  module: 'github.com/versity/versitygw/cmd/versitygw',
  what: 'the S3 server',
  usually: 'usually 2 minutes on first run',
  advice: 'Install Go 1.25 or later: tests of recordings in object storage build an S3 server with it.',
  timeoutMs: 1_200_000,
};

/** The folder with a folder for each bucket, and there a file for each object, whose time is that of the object. */
export const dataOf = (folder: string): string => join(folder, 'data');

/** Starts an S3 server on the loopback interface whose files are in this folder. */
export async function startObjectStorage(p: {
  folder: string;
  port: number;
  env: NodeJS.ProcessEnv;
  report: Report;
}): Promise<ServerProcess> {
  const { folder, port, env } = p;
  const file = await buildGoProgram(VERSITYGW, p);
  const [data, versions, attributes] = [dataOf(folder), join(folder, 'versions'), join(folder, 'attributes')];
  for (const each of [data, versions, attributes]) await mkdir(each, { recursive: true });
  const args = ['--port', `127.0.0.1:${port}`, '--quiet', '--keep-alive', 'posix'];
  // Attributes in files need no file system that has extended ones.
  args.push('--sidecar', attributes, '--versioning-dir', versions, data);
  return startReady({
    name: 'the S3 server',
    command: { file, args, env: { ...env, ROOT_ACCESS_KEY: ACCESS_KEY_ID, ROOT_SECRET_KEY: SECRET_ACCESS_KEY } },
    probe: () => probePort(port),
    timeoutMs: 60_000,
  });
}
