import type { DataConverter, Payload } from '@temporalio/common';
import { defaultPayloadConverter } from '@temporalio/common';
import type { PayloadKeys } from '../config/temporal/payload-keys.js';
import { createPayloadCodec } from './payload-codec.js';

/** Returns the file with the converter that moves messages and stack traces of failures to payloads. */
export const encodedFailures = () => require.resolve('./encoded-failures.js');

/** Creates the converter that every client and worker must use. */
export function createDataConverter(keys: PayloadKeys): DataConverter {
  return {
    payloadCodecs: [createPayloadCodec(keys)],
    ...(keys.newest === undefined ? {} : { failureConverterPath: encodedFailures() }),
  };
}

/** Converts a value for a request that does not pass Temporal's high-level client. */
export async function toPayloads(converter: DataConverter, value: unknown): Promise<Payload[]> {
  let payloads = [defaultPayloadConverter.toPayload(value)];
  for (const codec of converter.payloadCodecs ?? []) payloads = await codec.encode(payloads);
  return payloads;
}
