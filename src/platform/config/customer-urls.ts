import { isIP } from 'node:net';
import { z } from 'zod';
import { isBadPort } from '../../kernel/bad-ports.js';
import { urlFrom } from '../../kernel/text.js';

/** A range of ports, both ends included. */
export type PortRange = readonly [low: number, high: number];

const MAX_PORT = 65_535;
const PORTS = /^\d{1,5}(-\d{1,5})?$/;
const NAMESERVER = /^(?:\[([\dA-Fa-f:.]{2,45})\]|([\dA-Fa-f:.]{2,45}?))(?::(\d{1,5}))?$/;

/** Parses WEBHOOK_PORTS, such as `80,443,8000-8999`. */
export const portList = z.string().transform((text, context): PortRange[] => {
  return text.split(',').map((item) => {
    const [low = NaN, high = low] = PORTS.test(item.trim()) ? item.split('-').map(Number) : [];
    if (!(low >= 1 && high >= low && high <= MAX_PORT)) {
      context.addIssue('must be a comma-separated list of ports and port ranges, like 80,443,8000-8999');
    } else if (isBlocked([low, high])) {
      context.addIssue(
        'must not contain a port that belongs to another protocol, such as mail or SSH: no request is sent to such ports',
      );
    }
    return [low, high];
  });
});

/** Whether every port of the range is reserved for another protocol. A range needs only one usable port. */
function isBlocked([low, high]: PortRange): boolean {
  for (let port = low; port <= high; port += 1) if (!isBadPort(port)) return false;
  return true;
}

const MAX_LINK = 2_048;

/** A link for the portal's pages, with one of these protocols and without credentials. */
export const publicLink = (protocols: readonly ('https:' | 'mailto:')[]) =>
  z
    .string()
    .max(MAX_LINK)
    .refine(
      (text) => {
        const link = urlFrom(text);
        if (link === undefined || link.username !== '' || link.password !== '') return false;
        return protocols.some((each) => each === link.protocol) && (link.protocol === 'https:' || isMailbox(link));
      },
      `must be ${protocols.map((each) => (each === 'https:' ? 'an https URL' : 'a mailto: address')).join(' or ')} without credentials`,
    );

/** Whether a mailto URL names a recipient. Addresses are not checked further, because only a person reads them. */
const isMailbox = ({ pathname }: URL) => /^[^@\s]+@[^@\s]+$/.test(pathname);

/** Parses WEBHOOK_NAMESERVERS: IP addresses with optional ports, such as `10.0.0.2,[fd00::2]:5353`. */
export const nameserverList = z.string().transform((text, context) => {
  const servers = text.split(',').map((item) => item.trim());
  if (!servers.every(isNameserver)) {
    context.addIssue('must be a comma-separated list of IP addresses, each followed by :<port> if its port is not 53');
  }
  return servers;
});

function isNameserver(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const [, ipv6 = '', ipv4 = '', port = '53'] = NAMESERVER.exec(text) ?? [];
  return (isIP(ipv6) === 6 || isIP(ipv4) === 4) && Number(port) >= 1 && Number(port) <= MAX_PORT;
}
