import { z } from 'zod';

const reference = z
  .string('client_reference_id and metadata.account_id must be strings.')
  .regex(/^[A-Za-z0-9_-]{1,128}$/, 'client_reference_id and metadata.account_id must be an account id.');

const cents = (name: string) =>
  z
    .int(`${name} must be a whole number of cents.`)
    .min(0, `${name} must not be less than 0.`)
    .max(900_000_000_000, `${name} is too large.`);

/** Fields common to all events of the payment provider. */
export const PaymentEvent = z
  .looseObject({
    type: z.string('type must be a string.').meta({
      description: 'Kind of event. Only checkout.session.completed credits an account.',
      examples: ['checkout.session.completed'],
    }),
    livemode: z
      .boolean('livemode must be a boolean.')
      .nullish()
      .meta({ description: 'Whether real money was paid. It must agree with metadata.mode.' }),
    data: z
      .looseObject(
        {
          object: z
            .looseObject({}, 'data.object must be an object.')
            .describe('The object that the event is about, such as the checkout session.'),
        },
        'data must be an object.',
      )
      .nullish()
      .describe('Data of the event.'),
  })
  .meta({ id: 'PaymentEvent', description: 'Only checkout.session.completed is evaluated; other types are ignored.' });

/** The fields of a completed checkout session that determine a top-up. */
export const CheckoutSession = z.looseObject({
  id: z
    .string('id must be a string.')
    .regex(/^[A-Za-z0-9_-]{1,128}$/, 'id must have 1 to 128 letters, digits, _ or -.')
    .describe('The payment id: a session is credited once.'),
  payment_status: z.string('payment_status must be a string.').describe('Only payments with status paid are credited.'),
  amount_total: z
    .int('amount_total must be a whole number of cents.')
    .positive('amount_total must be more than 0.')
    .max(900_000_000_000, 'amount_total is too large: it exceeds the maximum balance of an account.')
    .describe('Cents, with tax and shipping.'),
  amount_subtotal: cents('amount_subtotal').nullish(),
  total_details: z
    .looseObject(
      {
        amount_tax: cents('total_details.amount_tax').nullish(),
        amount_shipping: cents('total_details.amount_shipping').nullish(),
      },
      'total_details must be an object.',
    )
    .nullish(),
  currency: z
    .string('currency must be usd.')
    .refine((currency) => currency.toLowerCase() === 'usd', 'currency must be usd.'),
  client_reference_id: reference.nullish(),
  metadata: z
    .looseObject(
      {
        account_id: reference.nullish(),
        mode: z.enum(['live', 'test'], 'metadata.mode must be live or test.').nullish(),
      },
      'metadata must be an object.',
    )
    .nullish(),
});
export type CheckoutSession = z.infer<typeof CheckoutSession>;

export const PaymentResponse = z
  .object({
    received: z.literal(true).describe('Always true: the event was received.'),
    credited: z
      .boolean()
      .describe(
        'Whether the payment is credited to the account; false if there was nothing to credit, or it is no top-up.',
      ),
  })
  .meta({ id: 'PaymentReceived' });
export type PaymentResponse = z.infer<typeof PaymentResponse>;
