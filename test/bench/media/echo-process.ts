import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { serveFigures } from './process-figures.js';

/** The minimum for a media server: it sends each text back. */
const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
server.on('connection', (socket) => {
  socket.on('message', (data: Buffer) => socket.send(data.toString('utf8')));
});
server.on('listening', () => {
  serveFigures();
  process.send?.({ port: (server.address() as AddressInfo).port });
});
