import { createCarrierLookUps } from '../../src/calls/placing/carrier-look-ups.js';
import type { CarrierApi, CarrierCall } from '../../src/telephony/port.js';
import { newSid, sidOf } from '../support/sids.js';

/** The API of a carrier account that knows one call, or none. */
function carrierOf(name: string, known?: CarrierCall) {
  const fetch = jest.fn(async () => known);
  const api = {
    account: { name, id: sidOf('AC', name), isDefault: false },
    fetch,
  } as Partial<CarrierApi> as CarrierApi;
  return { api, fetch };
}

describe('the look-up of a call at a carrier account', () => {
  it('does not answer for the same call id at another carrier account', async () => {
    const carrierSid = newSid('CA');
    const call: CarrierCall = { carrierSid, direction: 'inbound', status: 'in-progress' };
    const [own, other] = [carrierOf('own', call), carrierOf('other')];
    const { find } = createCarrierLookUps();
    const findAt = (carrier: CarrierApi) =>
      find({ accountId: 'acct_1', carrier, carrierSid, deadline: Date.now() + 10_000 });
    expect(await findAt(other.api)).toBeUndefined();
    expect(await findAt(own.api)).toEqual(call);
    expect(await findAt(other.api)).toBeUndefined();
    expect([own.fetch.mock.calls, other.fetch.mock.calls]).toEqual([[[carrierSid]], [[carrierSid]]]);
  });
});
