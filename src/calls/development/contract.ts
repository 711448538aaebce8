import { z } from 'zod';
import { callParams, EXAMPLE_CALL_ID } from '../../platform/http/contract/call-params.js';
import { defineRoute, jsonResponse } from '../../platform/http/contract/route.js';

const KilledProcess = z
  .object({ call_id: z.string().describe('Call identifier.'), killed: z.boolean().describe('Always true.') })
  .meta({ id: 'KilledProcess' });

/** Routes that exist in development only. They belong to no public interface. */
export const developmentRoutes = {
  killMediaProcess: defineRoute({
    method: 'post',
    path: '/portal/calls/{call_id}/kill_media_process',
    tag: 'Portal',
    summary: 'Kill the media process of a call',
    description:
      'For operators: ends the media process that carries the call with SIGKILL, to show that the call continues. The launcher of the development stack starts the process again.',
    auth: 'session',
    changes: 'account',
    params: callParams,
    success: jsonResponse('The process was killed.', KilledProcess, {
      killed: { call_id: EXAMPLE_CALL_ID, killed: true },
    }),
    errors: ['CALL_NOT_FOUND', 'CONFLICT'],
  }),
};
