/** Carriers that an adapter is there for. The simulated one speaks Twilio's interface, identifiers included. */
export type CarrierKind = 'simulator' | 'twilio';

/** The exact forms of a carrier's identifiers. Nothing else is stored, bound to a call or put into a path. */
export interface CarrierIdentifiers {
  account: RegExp;
  call: RegExp;
  stream: RegExp;
}

/** Two capitals and 32 hexadecimal digits. Twilio writes them in lower case, so capitals are a forgery. */
const TWILIO: CarrierIdentifiers = {
  account: /^AC[0-9a-f]{32}$/,
  call: /^CA[0-9a-f]{32}$/,
  stream: /^MZ[0-9a-f]{32}$/,
};

const IDENTIFIERS: Readonly<Record<CarrierKind, CarrierIdentifiers>> = { simulator: TWILIO, twilio: TWILIO };

/** The forms that the adapter of one kind of carrier accepts. */
export function carrierIdentifiers(kind: CarrierKind): CarrierIdentifiers {
  return IDENTIFIERS[kind];
}

/** A pattern of what at least one adapter accepts, as text for schemas and the interface document. */
export function anyCarriers(of: keyof CarrierIdentifiers): string {
  return [...new Set(Object.values(IDENTIFIERS).map((forms) => forms[of].source))].join('|');
}

const CALL = new RegExp(anyCarriers('call'));

/** Whether an adapter accepts the text as a call's identifier. */
export function isCarrierCallId(text: string): boolean {
  return CALL.test(text);
}
