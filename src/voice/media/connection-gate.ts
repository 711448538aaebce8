/** The part of a socket that the gate needs. */
interface GatedSocket {
  destroy(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

export type ConnectionGate = ReturnType<typeof createConnectionGate>;

/**
 * Limits connections without a verified signature, per client and in total. Above a limit, a new connection closes the
 * oldest one. A real carrier sends its signature within milliseconds, so the oldest is least likely to be a carrier's. Signed
 * streams that wait for their decision count, too.
 * @param limits.perClient connections per client address, as returned by `clientOf`
 */
export function createConnectionGate(limits: { perClient: number; total: number }) {
  /** Unverified sockets, oldest first, each with its client's address if known. */
  const unverified = new Map<GatedSocket, string | undefined>();
  const socketsByClient = new Map<string, Set<GatedSocket>>();

  function removeClient(socket: GatedSocket): void {
    const client = unverified.get(socket);
    const sockets = client === undefined ? undefined : socketsByClient.get(client);
    sockets?.delete(socket);
    if (client !== undefined && sockets?.size === 0) socketsByClient.delete(client);
  }

  function leave(socket: GatedSocket): void {
    removeClient(socket);
    unverified.delete(socket);
  }

  function dropOldest(sockets: Iterable<GatedSocket>): void {
    for (const oldest of sockets) {
      leave(oldest);
      oldest.destroy();
      return;
    }
  }

  /** Records which client address a connection comes from. Does nothing if `leave` was called for the connection. */
  function identify(socket: GatedSocket, client: string): void {
    if (!unverified.has(socket) || unverified.get(socket) === client) return;
    removeClient(socket);
    unverified.set(socket, client);
    const sockets = socketsByClient.get(client) ?? new Set();
    socketsByClient.set(client, sockets.add(socket));
    if (sockets.size > limits.perClient) dropOldest(sockets);
  }

  return {
    /** Starts to count a new connection. @param client absent while only the proxy's address is known */
    enter(socket: GatedSocket, client?: string): void {
      unverified.set(socket, undefined);
      socket.once('close', () => leave(socket));
      if (client !== undefined) identify(socket, client);
      if (unverified.size > limits.total) dropOldest(unverified.keys());
    },
    identify,
    /** Stops counting a connection that was admitted or closed. */
    leave,
  };
}
