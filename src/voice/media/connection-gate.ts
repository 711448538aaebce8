/** The part of a socket that the gate needs. */
interface GatedSocket {
  destroy(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

export type ConnectionGate = ReturnType<typeof createConnectionGate>;

/**
 * Bounds the connections that have not shown a valid signature, for each client and for all together. The oldest makes
 * room: an honest carrier shows its signature within milliseconds, so the oldest is the least likely to be one.
 * @param limits.perClient connections of one client, as `clientOf` names it
 */
export function createConnectionGate(limits: { perClient: number; total: number }) {
  /** Sockets by age, with their client where it is known. */
  const strangers = new Map<GatedSocket, string | undefined>();
  const ofClient = new Map<string, Set<GatedSocket>>();

  function forgetClient(socket: GatedSocket): void {
    const client = strangers.get(socket);
    const sockets = client === undefined ? undefined : ofClient.get(client);
    sockets?.delete(socket);
    if (client !== undefined && sockets?.size === 0) ofClient.delete(client);
  }

  function leave(socket: GatedSocket): void {
    forgetClient(socket);
    strangers.delete(socket);
  }

  function dropOldest(sockets: Iterable<GatedSocket>): void {
    for (const oldest of sockets) {
      leave(oldest);
      oldest.destroy();
      return;
    }
  }

  /** Says whose the connection is; without effect when it has left. */
  function identify(socket: GatedSocket, client: string): void {
    if (!strangers.has(socket) || strangers.get(socket) === client) return;
    forgetClient(socket);
    strangers.set(socket, client);
    const sockets = ofClient.get(client) ?? new Set();
    ofClient.set(client, sockets.add(socket));
    if (sockets.size > limits.perClient) dropOldest(sockets);
  }

  return {
    /** @param client absent while only the proxy's address is known */
    enter(socket: GatedSocket, client?: string): void {
      strangers.set(socket, undefined);
      socket.once('close', () => leave(socket));
      if (client !== undefined) identify(socket, client);
      if (strangers.size > limits.total) dropOldest(strangers.keys());
    },
    identify,
    /** The connection is admitted, or gone: it counts no longer. */
    leave,
  };
}
