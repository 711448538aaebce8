import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { mongo } from 'mongoose';

const { BSON } = mongo;
type Document = mongo.BSON.Document;

const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;
const HEADER_BYTES = 16;
const COMMANDS_OF_THE_DRIVER = ['hello', 'ismaster', 'isMaster', 'ping', 'endSessions'];

/** A command that the proxy has received, with the operation time of the response. */
export interface SeenCommand {
  name: string;
  collection: string;
  command: Document;
  operationTime: mongo.BSON.Timestamp;
}

export type ReplicaSetFront = Awaited<ReturnType<typeof startReplicaSetFront>>;

/**
 * A proxy that makes a single MongoDB server look like a replica set with one member. It forwards all messages and
 * records the commands. It adds to the responses what such a member sends: the name of the set, the version of its
 * source, and the times for causal consistency. Tests can check which commands the service sends to a replica set, but not what happens in a
 * failover.
 */
export async function startReplicaSetFront(serverUri: string) {
  const server = new URL(serverUri);
  const commands: SeenCommand[] = [];
  const sockets = new Set<Socket>();
  let time = 0;
  let address = '';
  let primary: { me?: string; aheadMs: number } = { aheadMs: 0 };

  function accept(client: Socket): void {
    const upstream = connect(Number(server.port), server.hostname);
    const pending = new Map<number, Document>();
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    onMessages(client, (message) => {
      const command = commandOf(message);
      if (command) pending.set(message.readInt32LE(4), command);
      upstream.write(message);
    });
    onMessages(upstream, (message) => {
      const responseTo = message.readInt32LE(8);
      const command = pending.get(responseTo);
      pending.delete(responseTo);
      client.write(withAnswer(message, (answer) => answered(command, answer)));
    });
  }

  function answered(command: Document | undefined, answer: Document): Document {
    // The proxy keeps an operation time that the server has set, because the server may be a real replica set.
    const told = answer['operationTime'] as mongo.BSON.Timestamp | undefined;
    const now = told ?? mongo.BSON.Timestamp.fromBits(++time, 1_700_000_000);
    const name = Object.keys(command ?? {})[0] ?? '';
    if (command && !COMMANDS_OF_THE_DRIVER.includes(name)) {
      commands.push({ name, collection: String(command[name]), command, operationTime: now });
    }
    const signature = { hash: new mongo.BSON.Binary(Buffer.alloc(20)), keyId: mongo.BSON.Long.ZERO };
    // Every real server reports the version of its source; the stand-in for MongoDB does not.
    if (name === 'buildInfo') return { ...answer, gitVersion: 'none', ...(told ? {} : { operationTime: now }) };
    const times = told ? {} : { operationTime: now, $clusterTime: { clusterTime: now, signature } };
    if (command?.['lsid'] && answer['localTime'] !== undefined) {
      const localTime = new Date((answer['localTime'] as Date).getTime() + primary.aheadMs);
      return { ...answer, setName: 'rs0', me: primary.me ?? address, localTime, ...times };
    }
    if (answer['maxWireVersion'] === undefined) return { ...answer, ...times };
    const member = { setName: 'rs0', setVersion: 1, hosts: [address], primary: address, me: address };
    return { ...answer, ...member, secondary: false, logicalSessionTimeoutMinutes: 30, ...times };
  }

  const front = createServer(accept);
  await new Promise<void>((resolve) => void front.listen(0, '127.0.0.1', resolve));
  address = `127.0.0.1:${(front.address() as AddressInfo).port}`;

  return {
    uri: `mongodb://${address}`,
    /**
     * The received commands in the order of their responses, except commands that the driver sends without a request of
     * the service.
     */
    commands,
    /** Tells clients that ask for the time that another node answers, whose clock is ahead. The driver does not notice. */
    moveTo: (me: string, aheadMs: number) => void (primary = { me, aheadMs }),
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => void front.close(() => resolve()));
    },
  };
}

/** Calls `handle` with each complete message of MongoDB's wire protocol. */
function onMessages(socket: Socket, handle: (message: Buffer) => void): void {
  let pending = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= HEADER_BYTES && pending.length >= pending.readInt32LE(0)) {
      const length = pending.readInt32LE(0);
      handle(pending.subarray(0, length));
      pending = pending.subarray(length);
    }
  });
}

function commandOf(message: Buffer): Document | undefined {
  const at = bodyOffset(message);
  return at === undefined ? undefined : BSON.deserialize(documentAt(message, at), { promoteLongs: false });
}

/** Replaces the body of a message. The BSON types of the values stay the same. */
function withAnswer(message: Buffer, change: (answer: Document) => Document): Buffer {
  const at = bodyOffset(message);
  if (at === undefined) return message;
  const body = documentAt(message, at);
  const changed = Buffer.from(BSON.serialize(change(BSON.deserialize(body, { promoteValues: false }))));
  const whole = Buffer.concat([message.subarray(0, at), changed, message.subarray(at + body.length)]);
  whole.writeInt32LE(whole.length, 0);
  return whole;
}

/** Returns at which offset the document of a message begins. The document is the command or the response. */
function bodyOffset(message: Buffer): number | undefined {
  switch (message.readInt32LE(12)) {
    case OP_MSG:
      // After the flags comes the kind of the first section. Kind 0 is the body.
      return message[HEADER_BYTES + 4] === 0 ? HEADER_BYTES + 5 : undefined;
    case OP_REPLY:
      return HEADER_BYTES + 20;
    case OP_QUERY:
      // After the flags come the collection's name with a final zero, and the numbers of documents to skip and to
      // return.
      return message.indexOf(0, HEADER_BYTES + 4) + 9;
    default:
      return undefined;
  }
}

function documentAt(message: Buffer, at: number): Buffer {
  return message.subarray(at, at + message.readInt32LE(at));
}
