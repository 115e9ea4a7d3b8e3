use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::store::PasswordFile;

fn reader(port: u16, user: &str, name: &str, password_file: &Path, statement: Statement) -> MysqlDriver {
    let database = Database {
        server: Server {
            host: Host::Tcp { name: "127.0.0.1".into(), port },
            user: Some(user.into()),
            password: Some(PasswordFile::new(password_file.into())),
            tls: Tls::Off,
        },
        name: name.into(),
        statement,
        time_zone: Zone::UTC,
        session_time_zone: SessionZone::default(),
    };
    MysqlDriver { database, scope: Scope { only_lease: "own".into(), max_leases: 1 } }
}

/// The flag of a client that uses TLS from here on.
const SSL: u32 = 0x0800;

fn send(client: &mut TcpStream, sequence: u8, payload: &[u8]) {
    let length = u8::try_from(payload.len()).unwrap();
    client.write_all(&[&[length, 0, 0, sequence], payload].concat()).unwrap();
}

fn receive(client: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 4];
    client.read_exact(&mut header).unwrap();
    let mut payload = vec![0; usize::from(header[0]) + (usize::from(header[1]) << 8)];
    client.read_exact(&mut payload).unwrap();
    payload
}

/// Greets as MySQL 8 does, and gives the capabilities of whoever answers.
fn greet(client: &mut TcpStream) -> u32 {
    let capabilities = [&[0xff, 0xf7 | 0x08, 45, 2, 0, 0xff, 0][..], &[21], &[0; 10]].concat();
    let greeting = [b"\x0a8.0.40\0\x01\0\0\0saltsalt\0", &capabilities[..], b"saltsaltsalt\0caching_sha2_password\0"];
    send(client, 0, &greeting.concat());
    u32::from_le_bytes(receive(client)[..4].try_into().unwrap())
}

#[tokio::test]
async fn a_password_that_a_server_takes_over_protected_connections_alone_is_sent_so_within_this_machine() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let mut client = listener.accept().unwrap().0;
        let first = greet(&mut client);
        // The server wants the whole password, and the client asks for the key to encrypt it with.
        send(&mut client, 2, &[1, 4]);
        assert_eq!(receive(&mut client), [2]);
        send(&mut client, 4, b"\x01planted");
        let second = greet(&mut listener.accept().unwrap().0);
        (first & SSL, second & SSL)
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    std::fs::write(&file, "planted").unwrap();
    let reader = reader(port, "planted", "planted", &file, Statement::Fixed("SELECT 'planted'".into()));
    let error = reader.connect(Instant::now() + Duration::from_secs(60)).await.map(drop).unwrap_err();
    assert_eq!(server.join().unwrap(), (0, SSL));
    // The second connection was cut off; whatever went wrong, nothing of it is told.
    assert!(matches!(error, ReadError::Unreachable(_)) && !error.to_string().contains("planted"), "{error}");
}
