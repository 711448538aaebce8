import { z } from 'zod';

/** Call id in the examples of the OpenAPI document. */
export const EXAMPLE_CALL_ID = 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN';

/** Path parameters of a route for one call. */
export const callParams = z.object({
  call_id: z.string().meta({ description: 'Call identifier.', examples: [EXAMPLE_CALL_ID] }),
});
