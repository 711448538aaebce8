import { createHandshakeDecryption } from './handshake-secrets.js';

const RECORD = { changeCipherSpec: 20, alert: 21, handshake: 22, encrypted: 23 } as const;
const MESSAGE = { serverHello: 2, encryptedExtensions: 8, certificate: 11, certificateRequest: 13 } as const;
const WARNING = 1;
const HEADER_BYTES = 5;
const MESSAGE_HEADER_BYTES = 4;
const RANDOM_AT = 2;
const RANDOM_BYTES = 32;
const SUPPORTED_VERSIONS = 43;
const TLS_1_3 = 0x0304;
/** The random value of a ServerHello that asks for another ClientHello (RFC 8446, 4.1.3). */
const RETRY = Buffer.from('cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c', 'hex');

/** Thrown when a server’s handshake has another form than expected, or certificates that it must not have. */
export class HandshakeRejected extends Error {
  override readonly name = 'HandshakeRejected';
  readonly code = 'ERR_TLS_HANDSHAKE_REJECTED';
}

export interface HandshakeGuard {
  /** Takes what the server sent. @throws HandshakeRejected */
  receive(chunk: Buffer): void;
  /** Takes the server's handshake secret of TLS 1.3, as soon as TLS knows it. @throws HandshakeRejected */
  setSecret(secret: Buffer): void;
}

/**
 * Looks at a server's certificates before TLS does. OpenSSL decodes every key and verifies every signature of a chain,
 * trusted or not, in one step that blocks the process, and the server decides how long that takes. TLS 1.3 encrypts its
 * certificates, so this decrypts them with the secret that TLS has just agreed with the server.
 * @param deps.pass passes bytes on to TLS, which works on them before this returns
 * @param deps.findFault returns what is wrong with these certificates in DER; undefined if TLS may see them
 */
export function createHandshakeGuard(deps: {
  pass: (bytes: Buffer) => void;
  findFault: (chain: readonly Buffer[]) => string | undefined;
}): HandshakeGuard {
  const { pass, findFault } = deps;
  let received = Buffer.alloc(0);
  let held: Buffer[] = [];
  let messages = Buffer.alloc(0);
  let isTls13 = false;
  let suite: number | undefined;
  let decrypt: ((record: Buffer) => Buffer) | undefined;
  let isOpen = false;

  function receive(chunk: Buffer): void {
    if (isOpen) return pass(chunk);
    received = Buffer.concat([received, chunk]);
    takeRecords();
  }

  function takeRecords(): void {
    for (let record = nextRecord(); record !== undefined; record = nextRecord()) {
      received = received.subarray(record.length);
      take(record);
    }
    if (!isOpen) return;
    const rest = received;
    received = Buffer.alloc(0);
    pass(rest);
  }

  function nextRecord(): Buffer | undefined {
    if (isOpen || received.length < HEADER_BYTES) return undefined;
    // A record of TLS 1.3 waits for the secret, which the record before it makes known.
    const isWaiting = received[0] === RECORD.encrypted && suite !== undefined && decrypt === undefined;
    const length = HEADER_BYTES + received.readUInt16BE(3);
    return isWaiting || received.length < length ? undefined : received.subarray(0, length);
  }

  function take(record: Buffer): void {
    const type = record[0];
    // OpenSSL reads on after a warning, such as that it does not know the name, so it proves nothing.
    if (type === RECORD.alert && record[HEADER_BYTES] === WARNING) return void held.push(record);
    if (type === RECORD.changeCipherSpec && isTls13) return pass(record);
    held.push(record);
    if (type === RECORD.encrypted && decrypt !== undefined) takeEncrypted(decrypt(record));
    else if (type === RECORD.handshake && decrypt === undefined) add(record.subarray(HEADER_BYTES));
    else throw new HandshakeRejected('A record of the handshake has an unexpected type.');
  }

  /** Takes a decrypted record: the content, its type, and zeros. */
  function takeEncrypted(inner: Buffer): void {
    let end = inner.length;
    while (end > 0 && inner[end - 1] === 0) end -= 1;
    if (inner[end - 1] === RECORD.handshake) add(inner.subarray(0, end - 1));
    else throw new HandshakeRejected('A record of the handshake has an unexpected type.');
  }

  function add(bytes: Buffer): void {
    messages = Buffer.concat([messages, bytes]);
    while (!isOpen && messages.length >= MESSAGE_HEADER_BYTES) {
      const end = MESSAGE_HEADER_BYTES + messages.readUIntBE(1, 3);
      if (messages.length < end) return;
      const [type, body] = [messages[0], messages.subarray(MESSAGE_HEADER_BYTES, end)];
      messages = messages.subarray(end);
      takeMessage(type, body);
    }
  }

  function takeMessage(type: number | undefined, body: Buffer): void {
    if (type === MESSAGE.certificate) {
      const fault = findFault(certificatesOf(body, decrypt !== undefined));
      if (fault !== undefined) throw new HandshakeRejected(fault);
      open();
    } else if (type === MESSAGE.serverHello && decrypt === undefined) takeHello(body);
    else if (decrypt === undefined || (type !== MESSAGE.encryptedExtensions && type !== MESSAGE.certificateRequest))
      throw new HandshakeRejected('The server sent an unexpected message before its certificates.');
  }

  function takeHello(body: Buffer): void {
    const hello = readHello(body);
    if (hello.version !== TLS_1_3) return;
    if (messages.length > 0) throw new HandshakeRejected('The server sent more in the clear than TLS 1.3 allows.');
    isTls13 = true;
    if (!hello.isRetry) suite = hello.suite;
    const records = Buffer.concat(held);
    held = [];
    pass(records);
  }

  function open(): void {
    isOpen = true;
    pass(Buffer.concat(held));
  }

  return {
    receive,
    setSecret(secret) {
      if (suite === undefined || decrypt !== undefined) return;
      decrypt = createHandshakeDecryption(suite, secret);
      if (decrypt === undefined) throw new HandshakeRejected('The server chose an unknown cipher suite.');
      // TLS calls this while it works on the ServerHello, so the records after it come next.
      takeRecords();
    },
  };
}

/** Reads a ServerHello (RFC 8446, 4.1.3; RFC 5246, 7.4.1.3). */
function readHello(body: Buffer): { version: number; suite: number; isRetry: boolean } {
  const random = body.subarray(RANDOM_AT, RANDOM_AT + RANDOM_BYTES);
  const suiteAt = RANDOM_AT + RANDOM_BYTES + 1 + (body[RANDOM_AT + RANDOM_BYTES] ?? 0);
  if (body.length < suiteAt + 3) throw new HandshakeRejected('The ServerHello is too short.');
  const suite = body.readUInt16BE(suiteAt);
  let version = body.readUInt16BE(0);
  for (let at = suiteAt + 5; at + 4 <= body.length; at += 4 + body.readUInt16BE(at + 2)) {
    if (body.readUInt16BE(at) === SUPPORTED_VERSIONS && at + 6 <= body.length) version = body.readUInt16BE(at + 4);
  }
  return { version, suite, isRetry: random.equals(RETRY) };
}

/** Reads the certificates of a Certificate message (RFC 8446, 4.4.2; RFC 5246, 7.4.2). */
function certificatesOf(body: Buffer, hasExtensions: boolean): Buffer[] {
  const certificates: Buffer[] = [];
  const contextBytes = hasExtensions ? 1 + (body[0] ?? 0) : 0;
  for (let at = contextBytes + 3; at < body.length;) {
    const start = at + 3;
    const end = start + (start <= body.length ? body.readUIntBE(at, 3) : 0);
    if (end > body.length || (hasExtensions && end + 2 > body.length))
      throw new HandshakeRejected('The list of certificates is cut off.');
    certificates.push(body.subarray(start, end));
    at = hasExtensions ? end + 2 + body.readUInt16BE(end) : end;
  }
  return certificates;
}
