import type { Payload, PayloadCodec } from '@temporalio/common';
import { z } from 'zod';
import { isEncrypted, UnreadablePayloadError } from '../payload-codec.js';

/** Payloads as JSON, in the form of Protocol Buffers: bytes are in base64. */
const payloadList = z.object({
  payloads: z.array(
    z.looseObject({ metadata: z.record(z.string(), z.base64()).optional(), data: z.base64().optional() }),
  ),
});
type JsonPayload = z.output<typeof payloadList>['payloads'][number];

export interface DecodedPayloads {
  payloads: JsonPayload[];
  /** How many were encrypted and could not be decrypted. They stay as they are, as do those that were not encrypted. */
  unreadable: number;
}

/**
 * Decrypts the payloads of a request to a codec server.
 * @returns undefined if the body is no list of payloads
 */
export async function decodePayloads(codec: PayloadCodec, body: string): Promise<DecodedPayloads | undefined> {
  const parsed = payloadList.safeParse(jsonOf(body));
  if (!parsed.success) return undefined;
  let unreadable = 0;
  const payloads: JsonPayload[] = [];
  for (const json of parsed.data.payloads) {
    const decoded = await decode(codec, json);
    if (decoded === undefined) unreadable += 1;
    payloads.push(decoded ?? json);
  }
  return { payloads, unreadable };
}

async function decode(codec: PayloadCodec, json: JsonPayload): Promise<JsonPayload | undefined> {
  const payload: Payload = { metadata: mapValues(json.metadata ?? {}, fromBase64), data: fromBase64(json.data ?? '') };
  if (!isEncrypted(payload)) return json;
  try {
    const [decoded] = await codec.decode([payload]);
    return {
      metadata: mapValues(decoded?.metadata ?? {}, toBase64),
      data: toBase64(decoded?.data ?? new Uint8Array()),
    };
  } catch (error) {
    if (error instanceof UnreadablePayloadError) return undefined;
    throw error;
  }
}

const fromBase64 = (text: string) => Buffer.from(text, 'base64');
const toBase64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

function mapValues<A, B>(values: Record<string, A>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
