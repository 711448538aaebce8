import { z } from 'zod';
import { defineRoute, ratedJsonResponse } from '../../platform/http/contract/route.js';
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
    .meta({ description: 'Phone number; the plus can be encoded as %2B.', examples: ['+12025550142'] }),
});

const json = 'application/json';
const numberResponse = ratedJsonResponse('The number.', PhoneNumber, { number: NUMBER_EXAMPLE });

/** Routes for the phone numbers of the requesting account. */
export const numberRoutes = {
  listPhoneNumbers: defineRoute({
    method: 'get',
    path: '/phone_numbers',
    tag: 'Phone numbers',
    summary: 'List phone numbers',
    description: 'Returns all numbers, oldest first. Agents without their own number call from the first one.',
    auth: 'keyOrSession',
    load: 'list',
    success: ratedJsonResponse('The numbers.', PhoneNumberList, { page: { data: [NUMBER_EXAMPLE], has_more: false } }),
    errors: [],
  }),
  addPhoneNumber: defineRoute({
    method: 'post',
    path: '/phone_numbers',
    tag: 'Phone numbers',
    summary: 'Add a phone number to the account',
    description:
      'A number belongs to one account. If SELF_SERVICE_NUMBERS is off, as in production, operators assign numbers and this returns 403. Requires a live key or a member.',
    auth: 'keyOrSession',
    changes: 'account',
    body: {
      contentType: json,
      schema: NewPhoneNumberBody,
      examples: { number: { phone_number: '+12025550142' } },
      onDemand: true,
    },
    success: numberResponse,
    errors: ['AGENT_NOT_FOUND', 'CONFLICT'],
  }),
  readPhoneNumber: defineRoute({
    method: 'get',
    path: '/phone_numbers/{phone_number}',
    tag: 'Phone numbers',
    summary: 'Read a phone number',
    description: 'Returns the number with the agent that answers its calls.',
    auth: 'keyOrSession',
    params: numberParams,
    success: numberResponse,
    errors: ['NOT_FOUND'],
  }),
  updatePhoneNumber: defineRoute({
    method: 'patch',
    path: '/phone_numbers/{phone_number}',
    tag: 'Phone numbers',
    summary: 'Assign an agent to a phone number',
    description: 'Requires a live key or a member.',
    auth: 'keyOrSession',
    changes: 'account',
    params: numberParams,
    body: {
      contentType: json,
      schema: PhoneNumberChangesBody,
      examples: { agent: { agent_id: NUMBER_EXAMPLE.agent_id }, none: { agent_id: null } },
    },
    success: numberResponse,
    errors: ['AGENT_NOT_FOUND', 'NOT_FOUND'],
  }),
  removePhoneNumber: defineRoute({
    method: 'delete',
    path: '/phone_numbers/{phone_number}',
    tag: 'Phone numbers',
    summary: 'Remove a phone number',
    description:
      'Rejected while an agent calls from it. Requires a live key or a member, and SELF_SERVICE_NUMBERS=true.',
    auth: 'keyOrSession',
    changes: 'account',
    params: numberParams,
    success: ratedJsonResponse('The removed number.', PhoneNumber, { number: NUMBER_EXAMPLE }),
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
};
