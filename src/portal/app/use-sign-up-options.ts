import type { SignUpOptions } from '../../identity/sign-in/schemas.js';
import { usePortal } from './session';
import { useData } from './use-data';

/** Loads the sign-up options; undefined until they are loaded. */
export function useSignUpOptions(): SignUpOptions | undefined {
  const { api } = usePortal();
  return useData('sign-up-options', (signal) => api.get<SignUpOptions>('/portal/sign-up-options', {}, signal)).data;
}
