import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { readBody } from '../../src/platform/http/raw-body';

const options = { limit: 1_000, decompress: false };

/** A request whose body has not been sent. */
async function incompleteRequest() {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n');
  const [req] = (await once(server, 'request')) as [IncomingMessage];
  return { server, client, req };
}

describe('reading the body of a request', () => {
  it('fails at once if the client has gone before', async () => {
    const { server, client, req } = await incompleteRequest();
    req.on('error', () => undefined);
    client.destroy();
    await new Promise((resolve) => req.on('close', resolve));
    await expect(readBody(req, options)).rejects.toMatchObject({ code: 'MISSING_PARAMS' });
    await once(server.close(), 'close');
  });

  it('fails at once if it was aborted before', async () => {
    const { server, client, req } = await incompleteRequest();
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(readBody(req, { ...options, signal })).rejects.toThrow('too late');
    client.destroy();
    await once(server.close(), 'close');
  });
});
