import { WebSocketServer } from 'ws';
import { SOCKET_LIMITS } from '../../../../src/voice/media/media-server.js';

/*
 * An echo under the media server's limits, for the Autobahn test suite, which wants every message back. It needs
 * Python 2.7, so it is no part of CI; test/integration/voice/conformance.test.ts holds the same rules on the media server itself.
 *
 *   npx tsx test/integration/voice/autobahn/echo.ts
 *   wstest -m fuzzingclient -s test/integration/voice/autobahn/fuzzingclient.json      (pip install autobahntestsuite)
 *
 * Version 25.10.1 of the suite: 247 cases, 0 failed; 6.4.1 to 6.4.4 are "non-strict", because a text that is no UTF-8 is
 * refused when it is whole and not before.
 */
const server = new WebSocketServer({ port: 9101, host: '127.0.0.1', ...SOCKET_LIMITS });
server.on('connection', (socket) => {
  socket.on('message', (data: Buffer, isBinary) => socket.send(data, { binary: isBinary }));
  // A broken protocol is what is being tested; the socket closes itself.
  socket.on('error', () => undefined);
});
