-- name: add_token
INSERT INTO tokens (token_id, name, role, read, digest, created_at, expires_at)
VALUES (:token_id, :name, :role, :read, :digest, :created_at, :expires_at)

-- name: tokens
SELECT token_id, name, role, read, created_at, expires_at, revoked_at, last_used_at FROM tokens ORDER BY id

-- name: token_with_digest
SELECT id, token_id, name, role, read, expires_at, revoked_at FROM tokens WHERE digest = :digest

-- name: revoke_tokens
UPDATE tokens SET revoked_at = :revoked_at WHERE (token_id = :name OR name = :name) AND revoked_at IS NULL
RETURNING token_id

-- name: revoke_all_tokens
UPDATE tokens SET revoked_at = :now WHERE revoked_at IS NULL

-- name: touch_token
UPDATE tokens SET last_used_at = :last_used_at WHERE id = :id AND coalesce(last_used_at, 0) < :last_used_at

-- name: add_user
INSERT INTO users (name, person, role, password, created_at) VALUES (:name, :person, :role, :password, :created_at)
ON CONFLICT (name) DO NOTHING

-- name: users
SELECT id, name, person, role, password, created_at, disabled_at FROM users ORDER BY name

-- name: user_named
SELECT id, name, person, role, password, created_at, disabled_at FROM users WHERE name = :name

-- name: disable_user
UPDATE users SET disabled_at = :disabled_at WHERE name = :name AND disabled_at IS NULL

-- name: end_sessions_of_user
UPDATE sessions SET ended_at = :ended_at
WHERE ended_at IS NULL AND "user" = (SELECT id FROM users WHERE name = :name)

-- name: set_password
UPDATE users SET password = :password WHERE name = :user AND disabled_at IS NULL

-- name: end_other_sessions
UPDATE sessions SET ended_at = :ended_at
WHERE ended_at IS NULL AND digest <> :kept AND "user" = (SELECT id FROM users WHERE name = :name)

-- name: end_links_of_user
UPDATE links SET used_at = :ended_at
WHERE used_at IS NULL AND "user" = (SELECT id FROM users WHERE name = :name)

-- name: add_password_change
INSERT INTO password_changes (password_change_id, "user", password_digest, actor, role, changed_at)
SELECT :password_change_id, id, :password_digest, :actor, :role, :changed_at FROM users WHERE name = :user

-- name: identity
SELECT i.digest, i."user", u.name, u.role, i.created_at AS at, i.proof
FROM identities AS i JOIN users AS u ON u.id = i."user"
WHERE i.digest = :digest

-- name: identities
SELECT i.digest, i."user", u.name, u.role, i.created_at AS at, i.proof
FROM identities AS i JOIN users AS u ON u.id = i."user"
ORDER BY i.digest

-- name: add_identity
INSERT INTO identities (digest, "user", created_at, proof) VALUES (:digest, :user, :created_at, :proof)

-- A trigger sets the role of the user.
-- name: add_role_change
INSERT INTO role_changes ("user", previous, role, changed_at) VALUES (:user, :previous, :role, :changed_at)

-- name: finish_sign_in
INSERT INTO finished_sign_ins (digest, finished_at) VALUES (:digest, :finished_at) ON CONFLICT (digest) DO NOTHING

-- name: forget_sign_ins
DELETE FROM finished_sign_ins WHERE finished_at < :before

-- name: set_views
UPDATE users SET views = :views WHERE id = :user

-- name: set_choices
UPDATE users SET shortcuts = :shortcuts, dense = :dense WHERE id = :user

-- name: add_link
INSERT INTO links (digest, "user", expires_at, proof) VALUES (:digest, :user, :expires_at, :proof)

-- name: link
SELECT l.digest, l."user", u.name, u.role, l.expires_at AS at, l.proof FROM links AS l JOIN users AS u ON u.id = l."user"
WHERE l.digest = :digest

-- name: links
SELECT l.digest, l."user", u.name, u.role, l.expires_at AS at, l.proof FROM links AS l JOIN users AS u ON u.id = l."user"
ORDER BY l.digest

-- name: open_links
SELECT l.digest, l."user", u.name, u.role, l.expires_at AS at, l.proof FROM links AS l JOIN users AS u ON u.id = l."user"
WHERE l.used_at IS NULL AND l.expires_at > :now
ORDER BY l.digest

-- name: end_links
UPDATE links SET used_at = :now, logged = 1 WHERE used_at IS NULL AND expires_at > :now

-- name: link_user
SELECT u.id, u.name, u.person, u.role, u.password, u.created_at, u.disabled_at
FROM links AS l
JOIN users AS u ON u.id = l."user"
WHERE l.digest = :digest AND l.used_at IS NULL AND l.expires_at > :now AND u.disabled_at IS NULL

-- name: use_link
UPDATE links SET used_at = :now WHERE digest = :digest AND used_at IS NULL AND expires_at > :now

-- name: add_session
INSERT INTO sessions (digest, "user", created_at, seen_at, confirmed_at, provider, proof)
VALUES (:digest, :user, :now, :now, :confirmed_at, :provider, :proof)

-- name: sessions
SELECT s.digest, s."user", u.name, u.role, s.created_at AS at, s.proof
FROM sessions AS s JOIN users AS u ON u.id = s."user"
ORDER BY s.digest

-- name: open_sessions
SELECT s.digest, s."user", u.name, u.role, s.created_at AS at, s.proof
FROM sessions AS s JOIN users AS u ON u.id = s."user"
WHERE s.ended_at IS NULL AND s.created_at > :begun_after
ORDER BY s.digest

-- name: end_sessions
UPDATE sessions SET ended_at = :now, logged = CASE WHEN created_at > :begun_after THEN 1 ELSE 0 END WHERE ended_at IS NULL

-- name: session_user
SELECT u.id, u.name, u.person, u.role, u.shortcuts, u.views, u.dense, s.created_at, s.seen_at, s.confirmed_at, s.provider,
    s.proof
FROM sessions AS s
JOIN users AS u ON u.id = s."user"
WHERE s.digest = :digest AND s.ended_at IS NULL AND u.disabled_at IS NULL

-- name: sessions_of_user
SELECT digest, created_at, seen_at FROM sessions
WHERE "user" = :user AND ended_at IS NULL AND created_at > :begun_after
ORDER BY seen_at DESC, digest
LIMIT :limit

-- name: end_shown_session
UPDATE sessions SET ended_at = :ended_at
WHERE ended_at IS NULL AND digest <> :kept AND "user" = :user AND substr(digest, 1, :length) = :shown

-- name: confirm_session
UPDATE sessions SET confirmed_at = :confirmed_at WHERE digest = :digest

-- name: share_sessions
SELECT 1 AS held

-- name: hold_sessions
SELECT 1 AS held

-- name: touch_session
UPDATE sessions SET seen_at = :seen_at WHERE digest = :digest AND seen_at < :seen_at

-- name: end_session
UPDATE sessions SET ended_at = :ended_at WHERE digest = :digest AND ended_at IS NULL

-- name: count_failures
SELECT count(*) AS number, max(failed_at) AS last FROM sign_in_failures WHERE subject = :subject AND failed_at > :since

-- name: add_failure
INSERT INTO sign_in_failures (subject, failed_at) VALUES (:subject, :failed_at) RETURNING id

-- name: hold_failures
SELECT 1 AS held

-- name: take_back_failure
DELETE FROM sign_in_failures WHERE id = :id

-- name: forget_failures
DELETE FROM sign_in_failures WHERE subject = :subject OR failed_at < :before
