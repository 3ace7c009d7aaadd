-- Which account signs in as which subject of a provider of OpenID Connect, unless the policy says so.
CREATE TABLE identities (
    -- BLAKE3 of issuer and subject, so that neither can be read here.
    digest TEXT PRIMARY KEY,
    "user" INTEGER NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    proof TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER identities_are_final BEFORE UPDATE ON identities
BEGIN SELECT RAISE(ABORT, 'an identity belongs to one account'); END;

-- Roles that claims of a provider changed; users.role is the last of them.
CREATE TABLE role_changes (
    id INTEGER PRIMARY KEY,
    "user" INTEGER NOT NULL REFERENCES users (id),
    previous TEXT NOT NULL,
    role TEXT NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;

CREATE TRIGGER role_changes_are_final BEFORE UPDATE ON role_changes
BEGIN SELECT RAISE(ABORT, 'what was recorded of roles stays'); END;
CREATE TRIGGER role_changes_stay BEFORE DELETE ON role_changes
BEGIN SELECT RAISE(ABORT, 'what was recorded of roles stays'); END;

-- A role changes only together with its record.
CREATE TRIGGER role_changes_begin_at_the_present_role BEFORE INSERT ON role_changes
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW."user" AND role = NEW.previous)
BEGIN SELECT RAISE(ABORT, 'a role changes from the one that the user has'); END;
CREATE TRIGGER role_changes_change_roles AFTER INSERT ON role_changes
BEGIN UPDATE users SET role = NEW.role WHERE id = NEW."user"; END;

-- Digests of sign-ins at providers that ended lately: each counts once.
CREATE TABLE finished_sign_ins (
    digest TEXT PRIMARY KEY,
    finished_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX finished_sign_ins_by_time ON finished_sign_ins (finished_at);

-- The provider at which the session's person signed in; NULL for a link or a password.
ALTER TABLE sessions ADD COLUMN provider TEXT;
