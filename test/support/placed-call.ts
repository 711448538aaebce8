import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const MOST_TRIES = 20;

export interface PlacedCall {
  httpStatus: number;
  call_id: string;
  status: string;
}

/** Places a call as a careful client does: if a busy service responds with 503, it sends the same request again. */
export async function placeCall(baseUrl: string, key: string, body: Record<string, unknown>): Promise<PlacedCall> {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'idempotency-key': randomUUID(),
  };
  for (let tries = 1; ; tries++) {
    const response = await fetch(`${baseUrl}/outbound_call`, { method: 'POST', headers, body: JSON.stringify(body) });
    const answer = (await response.json()) as Omit<PlacedCall, 'httpStatus'>;
    if (response.status !== 503 || tries === MOST_TRIES) return { httpStatus: response.status, ...answer };
    await sleep(500);
  }
}
