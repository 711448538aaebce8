import { z } from 'zod';
import { defineRoute, ratedJsonAnswer } from '../../platform/http/contract/route.js';
import {
  NewPhoneNumberBody,
  NUMBER_EXAMPLE,
  PhoneNumber,
  PhoneNumberChangesBody,
  PhoneNumberList,
} from '../../identity/accounts/schemas.js';

const numberParams = z.object({
  phone_number: z
    .string()
    .meta({ description: 'The number; its plus may be written %2B.', examples: ['+12025550142'] }),
});

const json = 'application/json';
const numberAnswer = ratedJsonAnswer('The number.', PhoneNumber, { number: NUMBER_EXAMPLE });

/** Routes for the phone numbers of the requesting account. */
export const numberRoutes = {
  listPhoneNumbers: defineRoute({
    method: 'get',
    path: '/phone_numbers',
    tag: 'Phone numbers',
    summary: 'List phone numbers',
    description: 'All of them, oldest first: the first is the one that agents without a number of their own call from.',
    auth: 'keyOrSession',
    load: 'list',
    success: ratedJsonAnswer('The numbers.', PhoneNumberList, { page: { data: [NUMBER_EXAMPLE], has_more: false } }),
    errors: [],
  }),
  addPhoneNumber: defineRoute({
    method: 'post',
    path: '/phone_numbers',
    tag: 'Phone numbers',
    summary: 'Add a phone number to the account',
    description:
      'A number has one owner. Where SELF_SERVICE_NUMBERS is off, as it is in production, operators give numbers and this is 403. Not with a test key.',
    auth: 'keyOrSession',
    changes: 'account',
    body: {
      contentType: json,
      schema: NewPhoneNumberBody,
      examples: { number: { phone_number: '+12025550142' } },
      onDemand: true,
    },
    success: numberAnswer,
    errors: ['AGENT_NOT_FOUND', 'CONFLICT'],
  }),
  readPhoneNumber: defineRoute({
    method: 'get',
    path: '/phone_numbers/{phone_number}',
    tag: 'Phone numbers',
    summary: 'Read a phone number',
    description: 'Returns the number with the agent that takes its calls.',
    auth: 'keyOrSession',
    params: numberParams,
    success: numberAnswer,
    errors: ['NOT_FOUND'],
  }),
  updatePhoneNumber: defineRoute({
    method: 'patch',
    path: '/phone_numbers/{phone_number}',
    tag: 'Phone numbers',
    summary: 'Name the agent that takes calls to a number',
    description: 'Not with a test key.',
    auth: 'keyOrSession',
    changes: 'account',
    params: numberParams,
    body: {
      contentType: json,
      schema: PhoneNumberChangesBody,
      examples: { agent: { agent_id: NUMBER_EXAMPLE.agent_id }, none: { agent_id: null } },
    },
    success: numberAnswer,
    errors: ['AGENT_NOT_FOUND', 'NOT_FOUND'],
  }),
  removePhoneNumber: defineRoute({
    method: 'delete',
    path: '/phone_numbers/{phone_number}',
    tag: 'Phone numbers',
    summary: 'Give a phone number up',
    description:
      'Refused while an agent calls from it. Not with a test key, and only where SELF_SERVICE_NUMBERS is on.',
    auth: 'keyOrSession',
    changes: 'account',
    params: numberParams,
    success: ratedJsonAnswer('The number, which is the account’s no more.', PhoneNumber, { number: NUMBER_EXAMPLE }),
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
};
