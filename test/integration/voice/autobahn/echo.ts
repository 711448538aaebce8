import { WebSocketServer } from 'ws';
import { SOCKET_LIMITS } from '../../../../src/voice/media/media-server.js';

/*
 * An echo server with the media server's limits, for the Autobahn test suite, which expects every message back. The suite
 * needs Python 2.7, so CI does not run it; test/integration/voice/conformance.test.ts tests the same rules on the media
 * server itself.
 *
 *   npx tsx test/integration/voice/autobahn/echo.ts
 *   wstest -m fuzzingclient -s test/integration/voice/autobahn/fuzzingclient.json      (pip install autobahntestsuite)
 *
 * Version 25.10.1 of the suite: 247 cases, 0 failed; 6.4.1 to 6.4.4 are "non-strict", because invalid UTF-8 is
 * rejected when the message is complete, not earlier.
 */
const server = new WebSocketServer({ port: 9101, host: '127.0.0.1', ...SOCKET_LIMITS });
server.on('connection', (socket) => {
  socket.on('message', (data: Buffer, isBinary) => socket.send(data, { binary: isBinary }));
  // The suite deliberately breaks the protocol. The library then closes the socket, so errors are ignored here.
  socket.on('error', () => undefined);
});
