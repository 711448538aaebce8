/** The part of a socket that the gate needs. */
interface GatedSocket {
  destroy(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

export type ConnectionGate = ReturnType<typeof createConnectionGate>;

/**
 * Limits connections without a verified signature, per client and in total. A new one replaces the oldest: a real
 * carrier sends its signature within milliseconds, so the oldest is the least likely to be one.
 * @param limits.perClient connections per client address, as returned by `clientOf`
 */
export function createConnectionGate(limits: { perClient: number; total: number }) {
  /** Unverified sockets by age, with their client if known. */
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

  /** Sets the client of a connection; does nothing after `leave`. */
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
    /** Stops counting a connection that was admitted or closed. */
    leave,
  };
}
