"""Queries for tokens, people, sign-in links, sessions and failed sign-ins; secrets are stored only as digests."""

from collections.abc import Mapping, Sequence

import msgspec

from antechamber.core.access.callers import COMMAND_LINE, Account, AccountRole, PasswordChange
from antechamber.core.access.sessions import SHOWN, BegunAccess, EndedAccess, OpenSession, ProvenElsewhere
from antechamber.core.admission.canonical import canonical, digest
from antechamber.core.conversion import convert
from antechamber.core.log.leaf import account_members, of_access, of_password, token_members
from antechamber.core.rows.access import SessionRow, TokenFacts, TokenRow, UserRow
from antechamber.store.memories import decoded
from antechamber.store.statements import Statements


class AccessQueries:
    """Implements core.ports.access.AccessRows with named statements."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def add_token(self, row: TokenRow, digest: str, actor: str = COMMAND_LINE) -> None:
        self.share_sessions()
        self._sql.run(
            "add_token",
            token_id=row.token_id,
            name=row.name,
            role=row.role,
            read=canonical(row.read).decode(),
            digest=digest,
            created_at=row.created_at,
            expires_at=row.expires_at,
        )
        named = token_members(msgspec.structs.asdict(row) | {"digest": digest})
        self._sql.append_leaves([of_access("issue-token", row.created_at, "issued", actor=actor, **named)])

    def tokens(self) -> list[TokenRow]:
        return [convert(decoded(row, "read"), TokenRow) for row in self._sql.all("tokens")]

    def token(self, digest: str) -> TokenFacts | None:
        row = self._sql.one("token_with_digest", digest=digest)
        return convert(decoded(row, "read"), TokenFacts) if row else None

    def revoke_tokens(self, name: str, now: int, actor: str = COMMAND_LINE) -> int:
        revoked = self._sql.all("revoke_tokens", name=name, revoked_at=now)
        self._sql.append_leaves(
            of_access("revoke-token", now, "revoked", actor=actor, token_id=row["token_id"]) for row in revoked
        )
        return len(revoked)

    def touch_tokens(self, used: Mapping[int, int]) -> None:
        moments = [{"id": token, "last_used_at": moment} for token, moment in sorted(used.items())]
        self._sql.repeat("touch_token", moments)

    def add_user(self, user: UserRow, actor: str = COMMAND_LINE) -> bool:
        added = self._sql.run(
            "add_user",
            name=user.name,
            person=user.person,
            role=user.role,
            password=user.password,
            created_at=user.created_at,
        )
        if added:
            named = account_members(user.name, user.person, user.password)
            self._sql.append_leaves([of_access("add-user", user.created_at, user.role, actor=actor, **named)])
        return added > 0

    def users(self) -> list[UserRow]:
        return convert(self._sql.all("users"), list[UserRow])

    def user(self, name: str) -> UserRow | None:
        row = self._sql.one("user_named", name=name)
        return convert(row, UserRow) if row else None

    def disable_user(self, name: str, now: int, actor: str = COMMAND_LINE) -> bool:
        self.hold_sessions()
        self._sql.run("end_sessions_of_user", name=name, ended_at=now)
        disabled = self._sql.run("disable_user", name=name, disabled_at=now) > 0
        if disabled:
            self._sql.append_leaves([of_access("disable-user", now, "disabled", actor=actor, user=name)])
        return disabled

    def identity(self, digest: str) -> BegunAccess | None:
        row = self._sql.one("identity", digest=digest)
        return convert(row, BegunAccess) if row else None

    def identities(self) -> list[BegunAccess]:
        return convert(self._sql.all("identities"), list[BegunAccess])

    def add_identity(self, digest: str, user: int, now: int, proof: str) -> None:
        self._sql.run("add_identity", digest=digest, user=user, created_at=now, proof=proof)

    def set_role(self, user: UserRow, role: AccountRole, now: int, actor: str) -> None:
        self._sql.run("add_role_change", user=user.id, previous=user.role, role=role, changed_at=now)
        self._sql.append_leaves([of_access("change-role", now, role, actor=actor, user=user.name)])

    def finish_sign_in(self, digest: str, now: int, before: int) -> bool:
        self._sql.run("forget_sign_ins", before=before)
        return self._sql.run("finish_sign_in", digest=digest, finished_at=now) > 0

    def end_sessions_of(self, name: str, now: int) -> int:
        self.hold_sessions()
        return self._sql.run("end_sessions_of_user", name=name, ended_at=now)

    def set_password(self, change: PasswordChange) -> bool:
        self.hold_sessions()
        if not self._sql.run("set_password", user=change.user, password=change.password):
            return False
        self._sql.run("end_other_sessions", name=change.user, kept=change.session, ended_at=change.changed_at)
        self._sql.run("end_links_of_user", name=change.user, ended_at=change.changed_at)
        values = {"user": change.user, "actor": change.actor, "role": change.role, "changed_at": change.changed_at}
        hashed = digest(change.password.encode())
        self._sql.run("add_password_change", password_change_id=change.change_id, password_digest=hashed, **values)
        self._sql.append_leaves([of_password(change)])
        return True

    def add_link(self, digest: str, user: int, expires_at: int, proof: str = "") -> None:
        self.share_sessions()
        self._sql.run("add_link", digest=digest, user=user, expires_at=expires_at, proof=proof)

    def link(self, digest: str) -> BegunAccess | None:
        row = self._sql.one("link", digest=digest)
        return convert(row, BegunAccess) if row else None

    def links(self) -> list[BegunAccess]:
        return convert(self._sql.all("links"), list[BegunAccess])

    def sessions(self) -> list[BegunAccess]:
        return convert(self._sql.all("sessions"), list[BegunAccess])

    def end_access(self, now: int, begun_after: int) -> EndedAccess:
        self.hold_sessions()
        tokens = [row for row in self.tokens() if row.revoked_at is None]
        links = convert(self._sql.all("open_links", now=now), list[BegunAccess])
        sessions = convert(self._sql.all("open_sessions", begun_after=begun_after), list[BegunAccess])
        self._sql.run("revoke_all_tokens", now=now)
        self._sql.run("end_links", now=now)
        self._sql.run("end_sessions", now=now, begun_after=begun_after)
        self._sql.append_leaves(of_access("revoke-token", now, "revoked", token_id=row.token_id) for row in tokens)
        for action, ended in (("end-link", links), ("end-session", sessions)):
            name = action.removeprefix("end-")
            self._sql.append_leaves(
                of_access(action, now, "ended", **{name: access.digest[:SHOWN], "user": access.name})
                for access in ended
            )
        users = [row for row in self.users() if row.disabled_at is None]
        return EndedAccess(tokens=tokens, links=links, sessions=sessions, users=users)

    def use_link(self, digest: str, now: int) -> UserRow | None:
        row = self._sql.one("link_user", digest=digest, now=now)
        if row is None or not self._sql.run("use_link", digest=digest, now=now):
            return None
        return convert(row, UserRow)

    def set_views(self, user: int, views: str) -> None:
        self._sql.run("set_views", user=user, views=views)

    def set_choices(self, user: int, shortcuts: str | None, *, dense: bool) -> None:
        self._sql.run("set_choices", user=user, shortcuts=shortcuts, dense=int(dense))

    def add_session(
        self, digest: str, user: int, now: int, proof: str = "", provider: ProvenElsewhere | None = None
    ) -> None:
        at = None if provider is None else provider.confirmed_at
        name = None if provider is None else provider.name
        self._sql.run("add_session", digest=digest, user=user, now=now, proof=proof, provider=name, confirmed_at=at)

    def session(self, digest: str) -> SessionRow | None:
        row = self._sql.one("session_user", digest=digest)
        return convert(row, SessionRow) if row else None

    def share_sessions(self) -> None:
        self._sql.one("share_sessions")

    def hold_sessions(self) -> None:
        self._sql.one("hold_sessions")

    def signed_in(self, digest: str) -> SessionRow | None:
        self.share_sessions()
        return self.session(digest)

    def touch_sessions(self, seen: Mapping[str, int]) -> None:
        moments = [{"digest": digest, "seen_at": moment} for digest, moment in sorted(seen.items())]
        self._sql.repeat("touch_session", moments)

    def end_session(self, digest: str, now: int) -> None:
        self.hold_sessions()
        self._sql.run("end_session", digest=digest, ended_at=now)

    def sessions_of(self, user: int, begun_after: int, limit: int) -> list[OpenSession]:
        rows = self._sql.all("sessions_of_user", user=user, begun_after=begun_after, limit=limit)
        return convert(rows, list[OpenSession])

    def end_other_sessions(self, account: Account, shown: str | None, now: int) -> int:
        self.hold_sessions()
        if shown is None:
            return self._sql.run("end_other_sessions", name=account.name, kept=account.session, ended_at=now)
        values = {"user": account.id, "kept": account.session, "ended_at": now}
        return self._sql.run("end_shown_session", shown=shown, length=SHOWN, **values)

    def confirm_session(self, digest: str, now: int) -> None:
        self._sql.run("confirm_session", digest=digest, confirmed_at=now)

    def failures(self, subject: str, since: int) -> tuple[int, int]:
        row = self._sql.one("count_failures", subject=subject, since=since)
        return (row["number"], row["last"] or 0) if row else (0, 0)

    def hold_failures(self) -> None:
        self._sql.one("hold_failures")

    def add_failure(self, subject: str, now: int) -> int:
        return int(self._sql.all("add_failure", subject=subject, failed_at=now)[0]["id"])

    def take_back_failures(self, ids: Sequence[int]) -> None:
        self._sql.repeat("take_back_failure", [{"id": failure} for failure in ids])

    def forget_failures(self, subject: str, before: int) -> None:
        self._sql.run("forget_failures", subject=subject, before=before)
