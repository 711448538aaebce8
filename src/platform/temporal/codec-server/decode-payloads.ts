import type { Payload, PayloadCodec } from '@temporalio/common';
import { z } from 'zod';
import { isEncrypted, UnreadablePayloadError } from '../payload-codec.js';

/** Payloads as JSON, in the form of Protocol Buffers: bytes are in base64, and an empty list is left out. */
const payloadList = z.object({
  payloads: z
    .array(z.looseObject({ metadata: z.record(z.string(), z.base64()).optional(), data: z.base64().optional() }))
    .default([]),
});
/** More than a page of the UI asks for. The check of a million empty payloads would take seconds. */
const MAX_PAYLOADS = 10_000;

type JsonPayload = z.output<typeof payloadList>['payloads'][number];

export interface DecodedPayloads {
  payloads: JsonPayload[];
  /** How many were encrypted and could not be decrypted. They stay as they are, as do those that were not encrypted. */
  unreadable: number;
}

/**
 * Decrypts the payloads of a request to a codec server.
 * @returns undefined if the body is no list of payloads, or a list of more than 10,000
 */
export async function decodePayloads(codec: PayloadCodec, body: string): Promise<DecodedPayloads | undefined> {
  const json = jsonOf(body);
  if (hasTooMany(json)) return undefined;
  const parsed = payloadList.safeParse(json);
  if (!parsed.success) return undefined;
  let unreadable = 0;
  const payloads: JsonPayload[] = [];
  for (const given of parsed.data.payloads) {
    const decoded = await decode(codec, given);
    if (decoded === undefined) unreadable += 1;
    payloads.push(decoded ?? given);
  }
  return { payloads, unreadable };
}

function hasTooMany(json: unknown): boolean {
  const payloads = (json as { payloads?: unknown } | null | undefined)?.payloads;
  return Array.isArray(payloads) && payloads.length > MAX_PAYLOADS;
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
