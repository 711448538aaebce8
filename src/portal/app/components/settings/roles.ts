import { ROLES, type Role } from '../../../../kernel/access.js';

const LABELS: Readonly<Record<Role, string>> = {
  owner: 'Owner: full access',
  developer: 'Developer: everything except members, keys and the account',
  viewer: 'Viewer: read only',
};

/** The roles that a member can have, each with what it permits. */
export const ROLE_OPTIONS = ROLES.map((value) => ({ value, label: LABELS[value] }));
